/** How words of a query and of a tool become the same, and which tools come first. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { rankTools, wordsOf } from '../../../lib/agent/rank-tools.ts'
import type { Tool } from '../../../lib/agent/types.ts'

const test = suite('rank tools')

test('one and many of a thing are the same word', () => {
  const pairs: [one: string, many: string][] = [
    ['branch', 'branches'],
    ['cache', 'caches'],
    ['file', 'files'],
    ['issue', 'issues'],
    ['process', 'processes'],
    ['box', 'boxes'],
    ['use', 'uses'],
    ['list_pull_request', 'listPullRequests'],
  ]
  for (const [one, many] of pairs) assert.equal(wordsOf(many), wordsOf(one), many)
  assert.not.equal(wordsOf('cat'), wordsOf('cash'))
})

const tool = (name: string, summary: string): Tool => ({
  name,
  summary,
  input: z.object({}),
  kind: 'read',
  preview: () => '',
  run: () => ({ content: '' }),
})

test('what a query is about counts, not its small words', () => {
  const tools = [
    tool('skills_list', 'List the skills of this profile, and which of them to use for the work'),
    tool(
      'mcp_git_list_branch',
      'Use this to list a branch of a repository. Returns the result as JSON',
    ),
    tool(
      'mcp_git_delete_branch',
      'Use this to delete a branch of a repository. Returns the result as JSON',
    ),
  ]
  const first = (query: string) => rankTools(query, tools)[0]?.name
  assert.is(first('list the branches'), 'mcp_git_list_branch')
  assert.is(first('which skills are there for this'), 'skills_list')
  assert.is(first('mcp_git_delete_branch'), 'mcp_git_delete_branch')
  assert.equal(rankTools('the of to', tools), [])
})

test.run()
