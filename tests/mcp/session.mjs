// One scripted session, whatever the client. The clients check structured content against the listed schemas themselves.
import assert from 'node:assert/strict';

export async function session(client, wanted, negotiated) {
  if (negotiated) assert.equal(negotiated, wanted);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 18);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    assert.equal(Boolean(result.isError), result.structuredContent.ok !== true);
    return result.structuredContent;
  };
  const page = process.env.PAGE;
  const read = await call('occam', { url: page });
  assert.match(read.markdown, /fourteen years/);
  const again = await call('occam', { url: page, if_none_match: read.contentHash });
  assert.equal(again.unchanged, true);
  const full = await call('occam_transcode', { url: page, json_blocks: true });
  assert.ok(full.blocks.length > 2);
  assert.equal((await call('occam_verify', { receipt: full.receipt })).verdict, 'verified');
  const digest = await call('occam_digest', { urls: [page, page.replace(/[0-9]+$/, '2')] });
  assert.equal(digest.stats.succeeded, 2);
  const issued = await call('occam_canary_issue', {});
  const seen = await call('occam', { url: issued.url });
  const sentinel = seen.markdown.split('`')[1];
  const verdict = await call('occam_canary_verify', { session_id: issued.sessionId, sentinel });
  assert.equal(verdict.verdict, 'READ_VERIFIED');
  const wrong = await call('occam_map', {});
  assert.equal(wrong.failure.code, 'invalid_arguments');
  const unknown = await call('no_such_tool', {});
  assert.equal(unknown.failure.code, 'unknown_tool');
  console.log(`ok ${negotiated ?? wanted}`);
}
