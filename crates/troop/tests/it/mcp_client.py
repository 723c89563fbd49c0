"""Uses the MCP server of troop with the official Python SDK:

python mcp_client.py stdio COMMAND [ARGUMENT...]    as a process
python mcp_client.py session URL TOKEN_FILE         over HTTP, with a session, as clients do since 2025-03-26
python mcp_client.py stateless URL TOKEN_FILE       over HTTP, without one, as clients do since 2026-07-28
"""

import asyncio
import json
import os
import pathlib
import sys

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def use(session):
    tools = await session.list_tools()
    assert [tool.name for tool in tools.tools] == ["team_tasks", "team_message", "team_workspace"], tools
    listed = await session.call_tool("team_tasks", {"action": "list"})
    board = json.loads(listed.content[0].text)
    assert board["tasks"][0]["subject"] == "Write", board
    assert "[Team message from bob]: hello" in listed.content[1].text, listed
    claimed = await session.call_tool("team_tasks", {"action": "claim", "task_id": "1"})
    assert json.loads(claimed.content[0].text)["task"]["status"] == "in_progress", claimed
    assert len(claimed.content) == 1, claimed
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


async def by_session(streams):
    async with streams as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        await use(session)


def over_http(url, token_file):
    token = pathlib.Path(token_file).read_text().strip()
    client = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return streamable_http_client(url, http_client=client)


async def main(way, target):
    if way == "stdio":
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        await by_session(stdio_client(server))
    elif way == "session":
        await by_session(over_http(*target))
    else:
        async with Client(over_http(*target)) as client:
            assert client.protocol_version == "2026-07-28", client.protocol_version
            await use(client)
    print("all good")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
