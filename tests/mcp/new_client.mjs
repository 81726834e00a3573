// The official TypeScript client, newer era: node new_client.mjs http URL | stdio COMMAND ARG… ; the page to read is PAGE.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { session } from './session.mjs';

const [kind, ...rest] = process.argv.slice(2);
const client = new Client({ name: 'kilter-test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const transport = kind === 'http'
  ? new StreamableHTTPClientTransport(new URL(rest[0]))
  : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env });
await client.connect(transport);
await session(client, '2026-07-28', client.getNegotiatedProtocolVersion?.());
await client.close();
