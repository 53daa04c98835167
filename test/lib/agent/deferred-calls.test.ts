/** Tools that are found by search: what counts as a call of one, how it looks on the wire, and how they are ranked. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toolOf } from './_run.ts'
import { unwrapCall, wrapCalls } from '../../../lib/agent/deferred-calls.ts'
import { rankTools } from '../../../lib/agent/rank-tools.ts'
import { normalizeCalls } from '../../../lib/agent/normalize-calls.ts'
import type { WireMessage } from '../../../lib/agent/types.ts'

const test = suite('deferred tools')

const KNOWN = ['todo', 'call_tool', 'mcp_git_list_branches', 'mcp_git_get', 'mcp_web_get']
const unwrap = (args: unknown, name = 'call_tool') => {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  const { id: _, ...call } = unwrapCall({ id: 'c', name, arguments: text }, KNOWN)
  return call
}

test('leaves other calls, unknown tools and what cannot be understood as they are', () => {
  const same = (args: unknown, name?: string) => {
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    assert.equal(unwrap(args, name), { name: name ?? 'call_tool', arguments: text })
  }
  same({ name: 'mcp_git_get', arguments: {} }, 'todo')
  same({ name: 'mcp_git_gone', arguments: {} })
  same({ name: 'get', arguments: {} })
  same({ name: 'call_tool', arguments: { name: 'todo' } })
  same({ arguments: {} })
  same({ name: 'mcp_git_get', arguments: 'no object' })
  same('not JSON')
})

test('accepts the ways in which models write a call', () => {
  const wanted = { name: 'mcp_git_list_branches', arguments: '{"repo":"a"}', via: 'call_tool' }
  for (const args of [
    { name: 'mcp_git_list_branches', arguments: { repo: 'a' } },
    { name: 'mcp_git_list_branches', arguments: '{"repo":"a"}' },
    { name: 'mcp_git_list_branches', repo: 'a' },
    { name: 'list_branches', arguments: { repo: 'a' } },
    { name: 'functions.mcp_git_list_branches', arguments: { repo: 'a' } },
    '{"name": "MCP-git-list-branches", "arguments": {"repo": "a",}}',
  ])
    assert.equal(unwrap(args), wanted, JSON.stringify(args))
  assert.equal(unwrap({ name: 'mcp_git_get' }).arguments, '{}')
  assert.is(unwrap({ name: 'mcp_git_get', arguments: {} }, 'Call-Tool').via, 'call_tool')
})

test('on the wire a call and its result are those of call_tool, others are not', () => {
  const raw = {
    id: 'a',
    name: 'call_tool',
    arguments: '{ "name": "mcp_git_get", "arguments": {"x": 1} }',
  }
  const calls = normalizeCalls(
    [unwrapCall(raw, KNOWN), { id: 'b', name: 'mcp_git_get', arguments: '{}' }],
    KNOWN,
    new Set(),
    'm1',
  ).map(({ call }) => call)
  const messages: WireMessage[] = [
    { role: 'assistant', content: '', tool_calls: calls },
    { role: 'tool', content: '1', tool_call_id: 'a', name: 'mcp_git_get' },
    { role: 'tool', content: '2', tool_call_id: 'b', name: 'mcp_git_get' },
  ]
  const wired = wrapCalls(messages)
  const text = '{"name":"mcp_git_get","arguments":{"x":1}}'
  assert.equal(wired[0]?.tool_calls, [
    { id: 'a', type: 'function', function: { name: 'call_tool', arguments: text } },
    { id: 'b', type: 'function', function: { name: 'mcp_git_get', arguments: '{}' } },
  ])
  assert.equal(
    wired.slice(1).map(({ name }) => name),
    ['call_tool', 'mcp_git_get'],
  )
  assert.equal(wrapCalls(wired), wired)
})

const tool = (name: string, summary: string, properties: object = {}) =>
  toolOf(name, undefined, { summary, parameters: { type: 'object', properties } })

test('ranks by name, description and parameters; named tools come first; nothing for nothing', () => {
  const tools = [
    tool('mcp_mail_send_message', 'Send an e-mail message to somebody.', { to: {}, subject: {} }),
    tool('mcp_chat_post_message', 'Post a message in a channel.', { channel: {} }),
    tool('mcp_git_create_issue', 'Open an issue. Sends a message to watchers.', { title: {} }),
    tool('mcp_git_listPullRequests', 'All pull requests of a repository.', { repo: {} }),
  ]
  const names = (query: string) => rankTools(query, tools).map(({ name }) => name)
  assert.is(names('send mail')[0], 'mcp_mail_send_message')
  assert.is(names('pull request')[0], 'mcp_git_listPullRequests')
  assert.is(names('channel')[0], 'mcp_chat_post_message')
  assert.is(names('open a new issue')[0], 'mcp_git_create_issue')
  assert.equal(names('mcp_chat_post_message, mcp_git_create_issue').slice(0, 2), [
    'mcp_chat_post_message',
    'mcp_git_create_issue',
  ])
  assert.equal(names('xylophone'), [])
  assert.equal(rankTools('x', []), [])
})

test.run()
