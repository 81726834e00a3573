// The official TypeScript SDK of the older era: node old_client.mjs http URL | stdio COMMAND ARG… ; the page to read is PAGE.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { session } from './session.mjs';

const [kind, ...rest] = process.argv.slice(2);
const client = new Client({ name: 'kilter-test', version: '1' });
const transport = kind === 'http'
  ? new StreamableHTTPClientTransport(new URL(rest[0]))
  : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env });
await client.connect(transport);
await session(client, '2025-11-25', transport.protocolVersion ?? '2025-11-25');
await client.close();
