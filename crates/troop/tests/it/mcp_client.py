"""Uses the MCP server of troop with the official Python SDK: python mcp_client.py COMMAND [ARGUMENT...]"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command, arguments):
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        tools = await session.list_tools()
        assert [tool.name for tool in tools.tools] == ["team_tasks", "team_message", "team_workspace"], tools
        listed = await session.call_tool("team_tasks", {"action": "list"})
        board = json.loads(listed.content[0].text)
        assert board["tasks"][0]["subject"] == "Write", board
        assert "[Team message from bob]: hello" in listed.content[1].text, listed
        claimed = await session.call_tool("team_tasks", {"action": "claim", "task_id": "1"})
        assert json.loads(claimed.content[0].text)["task"]["status"] == "in_progress", claimed
        wrong = await session.call_tool("team_tasks", {"action": "complete", "task_id": "1"})
        assert "needs `result`" in wrong.content[0].text, wrong
        resources = await session.list_resources()
        assert len(resources.resources) == 3, resources
        task = await session.read_resource("troop://task/1")
        assert json.loads(task.contents[0].text)["owner"] == "ann", task
        prompts = await session.list_prompts()
        assert [prompt.name for prompt in prompts.prompts] == ["lead", "teammate"], prompts
        prompt = await session.get_prompt("lead", {"goal": "Ship it"})
        assert "Ship it" in prompt.messages[0].content.text, prompt
    print("all good")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
