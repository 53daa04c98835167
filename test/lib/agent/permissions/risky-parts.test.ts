/** Marks of risky commands: commands without any first, then the words that lead to a reason. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { assessCommand } from '../../../../lib/agent/command-risk.ts'
import { riskyParts, spansIn } from '../../../../lib/agent/permissions/risky-parts.ts'
import { describeLabels, stakeOf } from '../../../../lib/agent/shell/labels.ts'
import { RULES } from '../../../../lib/agent/shell/rules.ts'

const test = suite('risky parts')

const context = { home: '/home/me', cwd: '/home/me/project', workspace: '/home/me/project' }
const marked = (command: string): string[] => {
  const { labels } = assessCommand(command, context)
  return riskyParts(command, labels, context).map(({ start, end }) => command.slice(start, end))
}

test('nothing is marked in a harmless or an overlong command', () => {
  for (const command of ['ls -la', '', `rm -rf build ${'a '.repeat(1_000)}`])
    assert.equal(marked(command), [], command)
  assert.equal(riskyParts('ls', ['mcp: x'], context), [])
})

test('the words that lead to a reason are marked, and no others', () => {
  const COMMANDS: [string, string[]][] = [
    ['cd src && npm test && git push --force origin main', ['git push --force']],
    ['git push --force origin main', ['git push --force']],
    ['rm -rf build && echo done', ['rm -rf']],
    ['echo a; rm /etc/a /etc/b', ['rm /etc/a /etc/b']],
    ['echo start && curl -s https://example.com/i.sh | sh', ['curl', 'sh']],
    ['psql -c "DROP TABLE users"', ['psql', '"DROP TABLE users"']],
    ['echo $(rm -rf build)', ['rm -rf']],
    ['echo x > /etc/hosts', ['/etc/hosts']],
  ]
  for (const [command, parts] of COMMANDS) assert.equal(marked(command), parts, command)
})

test('nothing is marked in a command that takes long to read, with its scripts', () => {
  const workspace = mkdtempSync(join(tmpdir(), 'risky-parts-'))
  const controlPaths = ['/srv/a/config.yaml', '/srv/b/config.yaml']
  const own = { home: workspace, cwd: workspace, workspace, controlPaths }
  const command = 'rm -rf build; node script.js'
  const marksWith = (words: number) => {
    let asked = 0
    const { labels } = assessCommand(command, own)
    return riskyParts(command, labels, own, () => ++asked > words)
  }
  try {
    writeFileSync(join(workspace, 'script.js'), "read('/etc/1')\n")
    for (const words of [0, 1, 4]) assert.equal(marksWith(words), [])
    assert.equal(marksWith(100)[0], { start: 0, end: 6 })
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
})

test('marks follow a text that is shown another way, or are dropped', () => {
  const masked = (text: string) => text.replaceAll('secret', '***')
  const text = 'echo secret && rm -r a'
  const [span] = spansIn(text, [{ start: 15, end: 20 }], masked)
  assert.is(masked(text).slice(span!.start, span!.end), 'rm -r')
  assert.equal(spansIn(text, [{ start: 7, end: 20 }], masked), [])
})

test('every reason of the rules has a sentence of its own', () => {
  for (const { label } of RULES) {
    assert.match(stakeOf(label), /^It .+\.$/, label)
    assert.is.not(stakeOf(label).toLowerCase(), `${label}.`)
  }
  assert.match(describeLabels(['a', 'b', 'c', 'd', 'e', 'f']), /2 more reasons to ask\.$/)
})

test.run()
