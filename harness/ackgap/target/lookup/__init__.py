"""What searches and listings find, and what they do not see yet."""
