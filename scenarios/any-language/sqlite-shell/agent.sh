#!/bin/sh
# Files a ticket for a late payment, and remembers it in a SQLite file. With KEY it sends a key that stays the same.
set -eu
sqlite3 app.db 'CREATE TABLE IF NOT EXISTS done (what TEXT PRIMARY KEY)'
if [ -z "$(sqlite3 app.db "SELECT what FROM done WHERE what = 'ticket'")" ]; then
    curl --silent --show-error --fail --output answer.log -H 'Content-Type: application/json' ${KEY:+-H "Idempotency-Key: $KEY"} \
        --data '{"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}' "$TICKETS_URL/tickets"
    sqlite3 app.db "INSERT INTO done VALUES ('ticket')"
fi
