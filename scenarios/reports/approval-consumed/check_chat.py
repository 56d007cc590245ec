"""The chat ends with an answer; one that waits for an approval which nobody can give any more never gets one."""

import json
import sqlite3
import sys

with sqlite3.connect("assistant.sqlite") as db:
    chats = db.execute("SELECT chat, messages FROM chats").fetchall()
    pending = {chat for (chat,) in db.execute("SELECT chat FROM pending")}
for chat, messages in chats:
    if json.loads(messages)[-1].get("tool_calls"):
        waits = "waits for an approval" if chat in pending else "has no approval left to resume"
        sys.exit(f"chat {chat} ends with a call of a tool, and {waits}")
