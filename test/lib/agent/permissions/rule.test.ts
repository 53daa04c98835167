/** How rules are written: what is accepted, and the sentence for what is not. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { listProblem, parseRule } from '../../../../lib/agent/permissions/rule.ts'

const rules = suite('permission rules')

const parsed = (text: unknown) => {
  const found = parseRule(text)
  if (!found.ok) throw new Error(found.problem.text)
  return found.rule
}

rules('rejects what is not a rule, with a sentence', () => {
  const wrong: [unknown, RegExp][] = [
    ['', /name of a tool/],
    ['bash(', /name of a tool/],
    ['bash)', /name of a tool/],
    ['(x)', /name of a tool/],
    ['git push', /name of a tool/],
    ['bash()', /parentheses are empty/],
    ['web_serch', /no tool “web_serch”/],
    ['browser(x)', /no tool “browser”/],
    ['web_search(x)', /no parentheses/],
    ['memory(x)', /no parentheses/],
    ['mcp__github__create(x)', /no parentheses/],
    ['mcp_github_create(x)', /no parentheses/],
    ['web_extract(example.org)', /domain:example.org/],
    ['web(domain:a b)', /domain:example.org/],
    ['WebFetch(domain:https://x.org/)', /domain:example.org/],
    ['read(\u202e)', /invisible/],
    ['read({a}{b}{c}{d}{e})', /four groups/],
    [{ 'bash(a': 'b)' }, /is text/],
    [5, /is text/],
    [null, /is text/],
    [`bash(${'a'.repeat(3_000)})`, /too long/],
  ]
  for (const [text, sentence] of wrong) {
    const found = parseRule(text)
    assert.not(found.ok, String(text))
    assert.match(found.ok ? '' : found.problem.text, sentence)
  }
})

rules('accepts our names, groups, and the names of other agents', () => {
  const command = { kind: 'command', pattern: 'git push *' }
  for (const name of ['bash', 'Bash', 'terminal', 'shell', 'execute_code'])
    assert.equal(parsed(`${name}(git push *)`).what, command, name)
  for (const name of ['Edit', 'write', 'MultiEdit', 'write_file', 'patch'])
    assert.equal(parsed(`${name}(src/**)`).what, { kind: 'write', pattern: 'src/**' }, name)
  for (const name of ['Read', 'read_file', 'Grep', 'Glob', 'search_files'])
    assert.equal(parsed(`${name}(.env)`).what, { kind: 'read', pattern: '.env' }, name)
  for (const name of ['WebFetch', 'web_extract', 'web'])
    assert.is(parsed(`${name}(domain:x.org)`).what?.kind, 'host', name)
  for (const name of ['Task', 'Agent', 'delegate_task'])
    assert.equal(parsed(`${name}(reviewer)`).what, { kind: 'agent', pattern: 'reviewer' }, name)
  assert.equal(parsed('WebSearch').tools, ['web_search'])
  assert.equal(parsed('web_*').tools, ['web_*'])
  assert.equal(parsed('*').tools, ['*'])
  assert.equal(parsed('mcp__github__create_issue').tools, ['mcp_github_create_issue'])
  assert.equal(parsed('mcp__github').tools, ['mcp_github_*'])
  assert.equal(parsed('mcp__github__*').tools, ['mcp_github_*'])
  assert.equal(parsed('mcp_git*').tools, ['mcp_git*'])
})

rules('a group without a pattern, or with *, covers its tools and everything of its kind', () => {
  for (const text of ['bash', 'Bash(*)', 'bash(**)']) {
    assert.equal(parsed(text).what, { kind: 'command', pattern: null })
    assert.equal(parsed(text).tools, ['terminal', 'process', 'execute_code'])
  }
  assert.is(parsed('terminal').what, null)
  assert.is(parsed('write_file').what, null)
})

rules('a list is named by its first entry that is not a rule', () => {
  assert.is(listProblem(undefined), null)
  assert.is(listProblem([]), null)
  assert.is(listProblem('bash(rm *)'), null)
  assert.is(listProblem(['bash(rm *)', 'Read(~/.ssh/**)']), null)
  assert.match(`${listProblem(['bash(rm *)', 'bsh(rm *)'])}`, /^“bsh\(rm \*\)”: There is no tool/)
  assert.match(`${listProblem([{ bash: 'deny' }])}`, /is text/)
  assert.match(`${listProblem({ bash: 'deny' })}`, /not a list/)
})

rules.run()
