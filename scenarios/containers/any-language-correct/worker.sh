#!/bin/sh
# Files a ticket and keeps the answer; a file says that it is done.
set -e
if [ ! -e ticket ]; then
  curl -sS --fail --max-time 20 -o ticket.new -H 'Content-Type: application/json' -H 'Idempotency-Key: review-4471' \
    -d '{"partner_id": "4471", "kind": "review", "title": "Review"}' "$TICKETS_URL/tickets"
  mv ticket.new ticket
fi
