"""A life after a long downtime sees the time that its targets see."""

import json
import sys
import time

import pytest

THREE_DAYS_S = 72 * 3600.0


@pytest.fixture
def moved(supervisor):
    supervisor.config["clock_offset_s"] = THREE_DAYS_S
    return supervisor


def test_every_wall_clock_of_python_moves_and_the_hello_says_so(moved):
    out = moved.run(
        """
        import datetime, email.utils, json, logging, time, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        now, utc = datetime.datetime.now, datetime.timezone.utc
        class Mine(datetime.datetime): pass
        moments = {
            "time.time": time.time(),
            "time.time_ns": time.time_ns() / 1e9,
            "clock_gettime": time.clock_gettime(time.CLOCK_REALTIME),
            "clock_gettime_ns": time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
            "localtime": time.mktime(time.localtime()),
            "gmtime": __import__("calendar").timegm(time.gmtime()),
            "ctime": time.mktime(time.strptime(time.ctime())),
            "asctime": time.mktime(time.strptime(time.asctime())),
            "strftime": time.mktime(time.strptime(time.strftime("%Y-%m-%d %H:%M:%S"), "%Y-%m-%d %H:%M:%S")),
            "now": now().timestamp(),
            "now(utc)": now(utc).timestamp(),
            "now(zone)": now(datetime.timezone(datetime.timedelta(hours=5))).timestamp(),
            "now(tz=)": now(tz=utc).timestamp(),
            "utcnow": datetime.datetime.utcnow().replace(tzinfo=utc).timestamp(),
            "datetime.today": datetime.datetime.today().timestamp(),
            "subclass": Mine.now().timestamp(),
            "logging": logging.makeLogRecord({}).created,
            "email": email.utils.mktime_tz(email.utils.parsedate_tz(email.utils.formatdate())),
        }
        print(json.dumps(moments))
        print(datetime.date.today().isoformat(), type(Mine.now()).__name__, type(now()) is datetime.datetime)
        """
    )
    moments, rest = out.splitlines()
    expected = time.time() + THREE_DAYS_S
    for name, moment in json.loads(moments).items():
        assert abs(moment - expected) < 30, name
    day, mine, exact = rest.split()
    assert day in {time.strftime("%Y-%m-%d", time.localtime(expected + shift)) for shift in (-30, 0)}
    assert (mine, exact) == ("Mine", "True")
    assert moved.of_type("hello")[0]["clock_moved"] is True


def test_monotonic_clocks_and_given_moments_do_not_move(moved):
    out = moved.run(
        """
        import datetime, time
        print(time.monotonic(), time.clock_gettime(time.CLOCK_MONOTONIC))
        print(time.gmtime(0).tm_year, time.ctime(86400)[-4:], time.strftime("%Y", time.gmtime(0)))
        print(datetime.datetime.fromtimestamp(86400).year, datetime.date.fromtimestamp(86400).year)
        """
    )
    first, second, third = (line.split() for line in out.splitlines())
    assert all(abs(float(moment) - time.monotonic()) < 30 for moment in first)
    assert [*second, *third] == ["1970"] * 5


def test_dates_are_the_same_classes_as_ever(moved):
    moved.run(
        """
        import copy, datetime, functools, pickle, sqlite3, time, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        now = datetime.datetime.now()
        assert isinstance(now, datetime.datetime) and isinstance(now, datetime.date)
        assert type(now) is datetime.datetime is type(datetime.datetime(2024, 1, 1))
        assert pickle.loads(pickle.dumps(now)) == now == copy.deepcopy(now)
        assert b"_ackgap" not in pickle.dumps((now, datetime.datetime, time.time))
        assert now - datetime.datetime.now() < datetime.timedelta(seconds=5)

        @functools.singledispatch
        def kind(value): return "other"

        @kind.register
        def _(value: datetime.datetime): return "datetime"

        assert kind(now) == "datetime"
        connection = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
        connection.execute("CREATE TABLE t (x timestamp)")
        connection.execute("INSERT INTO t VALUES (?)", (now,))
        assert connection.execute("SELECT x FROM t").fetchone() == (now,)
        connection.close()

        class Record:
            clock = time.time

        assert abs(Record().clock() - time.time()) < 5
        try:
            datetime.datetime.now("nonsense")
        except TypeError as error:
            print(error)
        """
    )


def test_the_clock_of_a_first_life_is_left_alone(supervisor):
    out = supervisor.run("import datetime, time; print(type(time.time).__name__, datetime.datetime.now().timestamp())")
    kind, moment = out.split()
    assert kind == "builtin_function_or_method"
    assert abs(float(moment) - time.time()) < 30
    assert supervisor.of_type("hello")[0]["clock_moved"] is False


@pytest.mark.skipif(sys.version_info < (3, 12), reason="deprecated in Python 3.12")
def test_utcnow_still_warns_where_it_is_called(moved):
    moved.run(
        """
        import datetime, warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            datetime.datetime.utcnow()
        assert seen[0].category is DeprecationWarning and seen[0].filename == __file__
        """
    )
