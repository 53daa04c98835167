/** Instructions beside tool results: cut to the window, masked, and given again when a compaction removed them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  InstructionLookup,
  instructionFilesIn,
  withInstructions,
} from '../../../lib/agent/nested-instructions.ts'
import type { LoopMessage } from '../../../lib/agent/types.ts'

const test = suite('instructions beside results')

const setUp = (texts: Record<string, string>) => {
  const run = {
    request: {
      instructions: {
        inPrompt: ['/p/AGENTS.md'],
        of: (_: string, known: ReadonlySet<string>) =>
          Object.entries(texts)
            .filter(([file]) => !known.has(file))
            .map(([file, text]) => ({ file, applies_to: '/p/a/', text })),
      },
      secrets: {
        mask: (text: string) => text.replaceAll('SECRET', '***'),
        reveal: (text: string) => text,
        commandError: () => null,
      },
    },
    messages: [] as LoopMessage[],
  }
  const lookup = new InstructionLookup(run as never)
  const lookUp = (files: string[], maxChars: number) => lookup.for(files, maxChars)
  return { run, lookUp }
}

test('once per directory, in JSON and in plain results, and again after a compaction', () => {
  const { run, lookUp } = setUp({ '/p/a/AGENTS.md': 'Keep SECRET.' })
  assert.equal(lookUp([], 9_999), [])
  const found = lookUp(['/p/a/x.ts', '/p/a/y.ts'], 9_999)
  assert.equal(found, [{ file: '/p/a/AGENTS.md', applies_to: '/p/a/', text: 'Keep ***.' }])
  for (const content of ['{"content":"x"}', 'plain text', '{"cut": "jso', '{}']) {
    const result = withInstructions(content, found)
    run.messages = [{ role: 'tool', content: result, tool_call_id: 'c' }]
    assert.equal(instructionFilesIn(run.messages), ['/p/a/AGENTS.md'], result)
    assert.equal(lookUp(['/p/a/z.ts'], 9_999), [], content)
  }
  run.messages = [{ role: 'user', content: 'Summary.' }]
  assert.is(lookUp(['/p/a/z.ts'], 9_999).length, 1)
  assert.is(withInstructions('{"a":1}', []), '{"a":1}')
})

test('texts are cut to what a small window allows', () => {
  const { lookUp } = setUp({ '/p/a/AGENTS.md': 'a'.repeat(3_000), '/p/a/b.md': 'b'.repeat(3_000) })
  const [first, second] = lookUp(['/p/a/x.ts'], 2_000)
  assert.ok(first && first.text.length < 2_100)
  assert.match(first.text, '/p/a/AGENTS.md is longer than 2000 characters')
  assert.ok(second && second.text.length < 500)
})

test.run()
