/** The text of a file edit, read from the arguments of a call that are still being written. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AgentEvent } from '../../../lib/agent/events.ts'
import { emitWriting, WrittenCall } from '../../../lib/agent/written-call.ts'

const test = suite('written call')

/** What arguments in pieces of `size` characters add up to. */
const readIn = (args: string, size: number, texts = ['content']) => {
  const call = new WrittenCall(texts)
  const paths: string[] = []
  let text = ''
  for (const piece of args.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []) {
    const added = call.push(piece)
    text += added?.text ?? ''
    if (added?.path !== undefined) paths.push(added.path)
  }
  return { paths, text, isOver: call.isOver() }
}

const CONTENT = 'const a = "ä\\n"\n\t// 😀 \\ "quoted" } , {"path":"b"}\n'

test('path and text are those of the whole arguments, whatever the pieces are', () => {
  const path = 'src/"quoted" ü.ts'
  const written = [
    JSON.stringify({ path, content: CONTENT }),
    JSON.stringify({ content: CONTENT, path }),
    JSON.stringify({ overwrite: true, file_path: path, lines: 12, contents: CONTENT }, null, 2),
    JSON.stringify({ path, content: CONTENT }).replace('😀', '\\ud83d\\ude00'),
    JSON.stringify({ path, content: CONTENT }).replaceAll('/', '\\/'),
  ]
  for (const args of written)
    for (const size of [1, 2, 5, 1_000])
      assert.equal(
        readIn(args, size),
        { paths: [path], text: CONTENT, isOver: true },
        `${size} of ${args}`,
      )
})

test('text that no string of the object is is not read', () => {
  for (const args of [
    '"{\\"path\\":\\"a\\"}"',
    '```json\n{"path":"a"}',
    '["a"]',
    '{"edits":[{"path":"a","content":"b"}]}',
    "{'path':'a'}",
  ])
    assert.equal(readIn(args, 3), { paths: [], text: '', isOver: true }, args)
  const nested = '{"path":"a","edits":{"content":"b"},"content":"c"}'
  assert.equal(readIn(nested, 4), { paths: ['a'], text: '', isOver: true })
})

test('a patch of several files names the one that it has come to', () => {
  const patch =
    '*** Begin Patch\n*** Update File: src/a.ts\n-a\n+b\n*** Add File: b c.ts\n+b\n*** End Patch\n'
  const args = JSON.stringify({ mode: 'patch', patch })
  assert.equal(readIn(args, 4, ['new_string', 'patch']), {
    paths: ['src/a.ts', 'b c.ts'],
    text: patch,
    isOver: true,
  })
  const replaced = JSON.stringify({ path: 'a.ts', old_string: 'old', new_string: 'new' })
  assert.equal(readIn(replaced, 4, ['new_string', 'patch']).text, 'new')
})

const emitted = (...pieces: (readonly [n: number, name: string, piece: string])[]) => {
  const events: AgentEvent[] = []
  const { add } = emitWriting(event => events.push(event), 'm1', ['write_file', 'terminal'])
  const calls = new Map<number, { id: string; name: string; arguments: string }>()
  for (const [n, name, piece] of pieces) {
    const call = calls.get(n) ?? { id: '', name, arguments: '' }
    calls.set(n, call)
    call.arguments += piece
    add(call, piece)
  }
  return events.map(event => event.type === 'tool_writing' && [event.index, event.path, event.text])
}

test('the newest file edit is followed; other tools, and calls that arrive whole, are not', () => {
  assert.equal(emitted([0, 'write_file', '{"path":"a","content":"b"}']), [])
  assert.equal(emitted([0, 'terminal', '{"command":'], [0, 'terminal', '"ls"}']), [])
  assert.equal(emitted([0, 'apply', '{"path":"a","con'], [0, 'apply', 'tent":"b"}']), [])
  assert.equal(
    emitted(
      [0, 'functions.write_file', '{"path":"a","content":"b'],
      [1, 'terminal', '{"comm'],
      [2, 'write_file', '{"path":"c","con'],
      [0, 'functions.write_file', 'b'],
      [2, 'write_file', 'tent":"d"}'],
    ),
    [
      [0, 'a', 'b'],
      [2, 'c', ''],
      [2, undefined, 'd'],
    ],
  )
})

test.run()
