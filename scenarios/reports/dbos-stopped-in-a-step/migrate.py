"""Make the tables of DBOS, as before a deployment. The old release has no command for that, and makes them itself."""

import os

if os.environ["DATABASE_KEY"] == "system_database_url":
    from dbos import DBOS

    DBOS.migrate(os.environ["DATABASE_URL"])
