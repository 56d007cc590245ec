"""A target as an MCP server: its operations are tools."""
