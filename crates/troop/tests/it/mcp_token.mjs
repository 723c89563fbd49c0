// Forwards HTTP requests to troop's MCP server with the token, which the conformance tests cannot send:
// node mcp_token.mjs URL TOKEN_FILE

import { readFileSync } from 'node:fs';
import http from 'node:http';

const [url, tokenFile] = process.argv.slice(2);
const { hostname: host, port, pathname } = new URL(url);
const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;

const server = http.createServer((asked, answer) => {
  const { method, url: path, headers } = asked;
  // One connection per request, so that no side closes a connection that the other is about to reuse.
  const passedOn = { ...headers, authorization, connection: 'close' };
  const options = { host, port, method, path, headers: passedOn, setHost: false, agent: false };
  const passed = http.request(options, (said) => {
    answer.writeHead(said.statusCode, { ...said.headers, connection: 'close' });
    // The client must see the start of a stream before its first message.
    answer.flushHeaders();
    said.pipe(answer);
  });
  // If one side closes, close the other.
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
});

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${pathname}`));
