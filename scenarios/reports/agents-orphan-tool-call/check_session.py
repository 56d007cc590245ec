"""Every call in the session has its result; one that has none is why no request of this session is accepted."""

import json
import sys
from pathlib import Path

messages = [json.loads(line) for line in Path("session.jsonl").read_text().splitlines()]
answered = {message.get("tool_call_id") for message in messages}
calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
unanswered = [call for call in calls if call not in answered]
if unanswered:
    sys.exit(f"the session holds the call {unanswered[0]} without a result, and {len(messages)} messages in all")
