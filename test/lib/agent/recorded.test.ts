/** Checkpoints before changes, read-only commands, and truncation of long results. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { patch } from '../../../lib/agent/tools/patch.ts'
import { readFile } from '../../../lib/agent/tools/read-file.ts'
import { terminalTool } from '../../../lib/agent/tools/terminal.ts'
import { writeFile } from '../../../lib/agent/tools/write-file.ts'
import type { ChangeScope } from '../../../lib/agent/tool-services.ts'
import type { Tool, ToolContext } from '../../../lib/agent/types.ts'
import { createBench } from './tools/_context.ts'
import { endpoint, toolOf, run, scripted, text, use } from './_run.ts'

const test = suite('checkpoints before changes')

test('tools announce changes before they make them', async () => {
  const bench = createBench()
  const said: ChangeScope[] = []
  const ctx: ToolContext = {
    ...bench.ctx,
    beforeChange: async what => {
      said.push(what)
    },
  }
  const place = bench.write('a.txt', 'one')
  await readFile.run(ctx, readFile.input.parse({ path: 'a.txt' }))
  await writeFile.run(ctx, { path: 'a.txt', content: 'two' })
  await patch.run(ctx, patch.input.parse({ path: 'a.txt', old_string: 'two', new_string: 'three' }))
  const terminal = terminalTool()
  const command = (line: string) => terminal.run(ctx, terminal.input.parse({ command: line }))
  await command('cat a.txt')
  await command('rm -rf ~')
  await command('rm -r denied')
  await command('touch b')
  assert.equal(said, [[place], [place], 'workspace'])
  bench.close()
})

const tool = (name: string, work: Tool['run']) =>
  toolOf(name, work, { input: z.object({ value: z.string().optional() }), kind: 'read' })

test('offloads results when those of one message are too long together', async () => {
  const kept: string[] = []
  const { messages } = await run(
    scripted([...['a', 'b', 'c'].map((value, n) => use('big', { value }, n))], [text('x')])
      .provider,
    {
      // In a known window the limits depend on it.
      endpoint: endpoint(0),
      tools: [tool('big', () => ({ content: 'x'.repeat(90_000) }))],
      offload: (callId, whole) => {
        kept.push(callId)
        return `/kept/${callId}-${whole.length}`
      },
    },
  )
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  assert.equal(
    results.map(content => String(content).length > 80_000),
    [true, true, false],
  )
  assert.match(String(results[2]), '/kept/c2-90000')
  assert.equal(kept, ['c2'])
})

test.run()
