"""Documents about one agent, server or interface.

a2a, a2ainterfaces        agent cards of every generation
mcp, mcpendpoints         MCP server cards of every layout
openapi                   descriptions that are located and not read further
"""
