#!/bin/sh
# Files a ticket for a late payment and tells the customer. Remembers what it has done in state/.
set -eu
messages=${NOTIFY_URL:-$TICKETS_URL}
mkdir -p state

post() {
    curl --silent --show-error --fail -H 'Content-Type: application/json' --data "$2" "$1"
}

if [ ! -e state/ticket ]; then
    post "$TICKETS_URL/tickets" '{"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}' > state/ticket.new
    mv state/ticket.new state/ticket
fi

if [ ! -e state/told ]; then
    post "$messages/messages" '{"to": "partner-4471", "text": "We are looking into invoice 88."}' > state/told.new
    mv state/told.new state/told
fi

echo done
