"""Make the tables of DBOS, of its datasource, and of the tickets: once, before any worker is started."""

import os

from dbos import DBOS, SQLAlchemyDatasource
from sqlalchemy import create_engine, text

DATABASE_URL = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)

DBOS.migrate(DATABASE_URL)
SQLAlchemyDatasource.migrate(DATABASE_URL)
with create_engine(DATABASE_URL).begin() as connection:
    connection.execute(text("CREATE TABLE tickets (id SERIAL PRIMARY KEY, partner_id TEXT, title TEXT, summary TEXT)"))
