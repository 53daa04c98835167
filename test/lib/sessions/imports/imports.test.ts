/** Import of any format: what is refused, what is set aside, and importing again. */
import { appendFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { diskFull, UserError } from '../../../../lib/errors.ts'
import { toRecord } from '../../../../lib/sessions/transfer.ts'
import { type ImportBench, openImports, spoken } from './_bench.ts'

type Test = { bench: ImportBench }
const test = suite<Test>('imports')
test.before.each(context => {
  context.bench = openImports()
})
test.after.each(({ bench }) => bench.close())

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    if (error instanceof UserError) return error.code
    throw error
  }
  return 'imported'
}

/** A conversation of Claude, which has the simplest format. */
const claude = (uuid: string, ...texts: string[]) => ({
  uuid,
  name: `Chat ${uuid}`,
  created_at: '2025-01-02T03:04:05Z',
  updated_at: '2025-01-02T04:00:00Z',
  chat_messages: texts.map((text, index) => ({
    uuid: `${uuid}-${index}`,
    sender: index % 2 === 0 ? 'human' : 'assistant',
    text,
    created_at: `2025-01-02T03:0${index}:05Z`,
  })),
})

test('refuses what is no export with a code, and writes nothing', async ({ bench }) => {
  const zip = readFileSync(await bench.zip({ 'conversations.json': [claude('a', 'Hi')] }))
  const files: Readonly<Record<string, readonly [unknown, string]>> = {
    'empty.json': ['', 'import_empty'],
    'text.txt': ['Hello, this is a text.', 'import_unknown'],
    'page.html': ['<!doctype html><title>x</title>', 'import_unknown'],
    'utf-16.json': [Buffer.from('\ufeff[{}]', 'utf16le'), 'import_unknown'],
    'blank.json': ['  \n ', 'import_unknown'],
    'number.json': ['42', 'import_unknown'],
    'string.json': ['"words"', 'import_unknown'],
    'list.json': ['[]', 'import_unknown'],
    'numbers.json': ['[1, "two", null, true, [3]]', 'import_unknown'],
    'object.json': ['{"a": {"b": 1}}', 'import_unknown'],
    'package.json': [{ name: 'x', version: '1', dependencies: {} }, 'import_unknown'],
    'cut.zip': [zip.subarray(0, zip.length - 30), 'import_damaged'],
    'garbage.zip': [
      Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(500, 7)]),
      'import_damaged',
    ],
  }
  for (const [name, [content, code]] of Object.entries(files))
    assert.is(await codeOf(bench.import(bench.write(name, content))), code, name)
  const none = await bench.zip({ 'chat.html': '<p>', 'x.png': 'x' })
  assert.is(await codeOf(bench.import(none)), 'import_unknown')
  assert.is(await codeOf(bench.import(join(bench.root, 'nowhere.json'))), 'invalid_request')
  mkdirSync(join(bench.root, 'folder'))
  assert.is(await codeOf(bench.import(join(bench.root, 'folder'))), 'invalid_request')
  assert.equal(bench.ids(), [])
})

test('sets aside what is wrong and imports the rest', async ({ bench }) => {
  const deep = `{"mapping":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}}`
  const items = [
    JSON.stringify(claude('one', 'First')),
    '{"uuid": "x", "chat_messages": [}',
    '{"chat_messages": ["text", 5, null, {"sender": 7}]}',
    '{"mapping": {"a": {"message": 5, "parent": {}}, "b": null}}',
    '{"name": "wrong", "chat_messages": [{"uuid": {}, "sender": [], "content": "x", "text": {}}]}',
    deep,
    '{"other": true}',
    JSON.stringify(claude('two', 'Second')),
  ]
  const report = await bench.import(bench.write('a.json', `[${items.join(',\n')}]`))
  assert.is(report.counts.new, 2)
  assert.equal(
    bench
      .ids()
      .map(id => spoken(bench.folded(id)))
      .toSorted(),
    [['user: First'], ['user: Second']],
  )
  const codes = report.problems.map(({ code }) => code)
  assert.is(codes.length, 6)
  assert.ok(codes.includes('too_deep'))
  assert.ok(codes.includes('other_format'))
  assert.ok(codes.includes('no_messages'))
  assert.ok(report.problems.every(({ name }) => name !== ''))
})

test('a file that ends too early gives what is whole and says so', async ({ bench }) => {
  const path = bench.write('a.json', [claude('one', 'First'), claude('two', 'Second')])
  truncateSync(path, readFileSync(path).length - 40)
  const report = await bench.import(path)
  assert.is(report.counts.new, 1)
  assert.equal(
    report.problems.map(({ code }) => code),
    ['cut'],
  )
})

test('a conversation larger than the limit is read past', async ({ bench }) => {
  let most = 0
  const long = 'x'.repeat(70 << 20)
  const path = bench.write('a.json', [claude('big', long), claude('small', 'Hello')])
  const onKept = (bytes: number) => {
    most = Math.max(most, bytes)
  }
  const report = await bench.import(path, { onKept })
  assert.equal(
    report.problems.map(({ code }) => code),
    ['too_large'],
  )
  assert.is(bench.chat().meta.title, 'Chat small')
  assert.ok(most <= 64 << 20)
})

test('a huge message, odd characters and halves of them are kept or replaced', async ({
  bench,
}) => {
  const long = `${'long '.repeat(1 << 20)}end`
  const text =
    '[{"uuid":"a","name":"A\\ud800B","chat_messages":[{"sender":"human","text":"x\\udfffy \\u0000 \\ud83d\\ude00"}]}]'
  const report = await bench.import(bench.write('a.json', text))
  assert.is(report.counts.new, 1)
  assert.equal(spoken(bench.chat('A\ufffdB')), ['user: x\ufffdy \0 😀'])
  await bench.import(bench.write('b.json', [claude('b', long)]))
  assert.is(String(bench.chat('Chat b').messages[0]?.content).length, long.length)
})

test('accepts a byte order mark, objects one after another, and a list inside an object', async ({
  bench,
}) => {
  const [a, b] = [claude('a', 'A'), claude('b', 'B')].map(each => JSON.stringify(each))
  await bench.import(bench.write('mark.json', `\ufeff[${a}]`))
  await bench.import(bench.write('lines.jsonl', `${a}\n${b}\n`))
  const inner = { conversations: [claude('c', 'C'), claude('d', 'D')] }
  const report = await bench.import(bench.write('object.json', inner))
  assert.is(report.counts.new, 2)
  assert.is(bench.ids().length, 4)
})

test('an archive: names are no paths, parts in order, a damaged part alone is set aside', async ({
  bench,
}) => {
  const path = await bench.zip({
    'data/conversations-001.json': [claude('b', 'B')],
    'data/conversations-000.json': [claude('a', 'A')],
    'data/conversations-002.json': 'not JSON',
    'user.json': { id: 1 },
    'chat.html': '<p>',
  })
  const bytes = readFileSync(path)
  // The name of an entry that leads elsewhere must not cost the others.
  const renamed = Buffer.from(
    bytes.toString('latin1').replaceAll('data/conversations-001', '../../conversations-01'),
    'latin1',
  )
  const report = await bench.import(bench.write('b.zip', renamed))
  assert.is(report.counts.new, 2)
  assert.equal(report.problems, [{ name: 'conversations-002.json', code: 'damaged' }])
})

test('an archive of our own export, or one that macOS packed, has nothing that is set aside', async ({
  bench,
}) => {
  const own = (session_id: string) => ({
    ...{ session_id, title: session_id },
    messages: [{ role: 'user', content: 'A', timestamp: 1_700_000_000 }],
  })
  const export_ = {
    'out/sessions/a.json': own('a'),
    'out/sessions/b.json': own('b'),
    'out/sessions/_index.json': [{ session_id: 'a', title: 'a' }],
    'out/projects.json': [],
    'out/settings.json': { theme: 'dark' },
    'out/last_workspace.txt': '/home',
  }
  const packed = {
    'chats/one.json': claude('c', 'C'),
    'chats/two.json': claude('d', 'D'),
    '__MACOSX/chats/._one.json': Buffer.from([0, 5, 22, 7, 0, 2]),
  }
  for (const archive of [export_, packed]) {
    const report = await bench.import(await bench.zip(archive))
    assert.equal([report.counts.new, report.problems], [2, []])
  }
})

test('an archive whose directory lies about sizes does not expand', async ({ bench }) => {
  const path = await bench.zip({
    'conversations.json': JSON.stringify([claude('a', 'A'.repeat(100_000))]),
  })
  const bytes = readFileSync(path)
  const at = bytes.lastIndexOf(Buffer.from('PK\x01\x02'))
  bytes.writeUInt32LE(1_000, at + 24)
  const report = await bench.import(bench.write('lie.zip', bytes))
  assert.is(report.counts.new, 0)
  assert.equal(
    report.problems.map(({ code }) => code),
    ['damaged'],
  )
})

test('importing again doubles nothing, takes over what is new, and keeps what was continued here', async ({
  bench,
}) => {
  const first = [claude('a', 'A'), claude('b', 'B'), claude('c', 'C')]
  await bench.import(bench.write('1.json', first))
  const again = await bench.import(bench.write('2.json', first))
  assert.equal(again.counts, { new: 0, updated: 0, unchanged: 3, kept: 0 })
  const idOf = (title: string) => bench.chat(title).id
  bench.append(idOf('Chat a'), { t: 'meta', patch: { title: 'Mine', pinned: true } })
  bench.append(idOf('Chat b'), {
    t: 'message',
    message: { id: 'm3', role: 'user', content: 'More', timestamp: 1 },
  })
  const longer = [claude('a', 'A', 'AA'), claude('b', 'B', 'BB'), claude('c', 'C', 'CC')]
  const third = await bench.import(bench.write('3.json', longer))
  assert.equal(third.counts, { new: 0, updated: 2, unchanged: 0, kept: 1 })
  assert.equal(spoken(bench.chat('Mine')), ['user: A', 'assistant: AA'])
  assert.is(bench.chat('Mine').meta.pinned, true)
  assert.equal(spoken(bench.chat('Chat b')), ['user: B', 'user: More'])
  assert.equal(spoken(bench.chat('Chat c')), ['user: C', 'assistant: CC'])
  assert.is(bench.ids().length, 3)
  const fourth = await bench.import(bench.write('4.json', longer))
  assert.equal(fourth.counts, { new: 0, updated: 0, unchanged: 2, kept: 1 })
})

test('a project that was renamed here is not created again for chats that are there already', async ({
  bench,
}) => {
  const path = bench.write('a.json', [
    { ...claude('a', 'A'), project: { uuid: 'p', name: 'Novel' } },
  ])
  await bench.import(path)
  const [project] = bench.projects
  assert.is(bench.chat().meta.project_id, project?.project_id)
  Object.assign(project!, { name: 'Mine' })
  assert.is((await bench.import(path)).counts.unchanged, 1)
  assert.equal(bench.projects, [project])
})

test('an older state of a chat never replaces a newer one, in another file or the same', async ({
  bench,
}) => {
  const state = (day: number, ...texts: string[]) => ({
    ...claude('a', ...texts),
    updated_at: `2025-03-0${day}T00:00:00Z`,
  })
  const newer = state(2, 'A', 'B', 'C')
  const orders = [
    [newer, state(1, 'A')],
    [state(1, 'A'), newer],
    [newer, newer],
  ]
  for (const states of orders) {
    const another = openImports()
    await another.import(another.write('a.json', states))
    assert.equal(spoken(another.chat()), ['user: A', 'assistant: B', 'user: C'])
    const report = await another.import(another.write('b.json', [state(1, 'A', 'X')]))
    assert.equal(report.counts, { new: 0, updated: 0, unchanged: 1, kept: 0 })
    assert.is(spoken(another.chat()).length, 3)
    const dry = await bench.import(another.write('c.json', states), { isDryRun: true })
    assert.is(dry.counts.new, 1)
    another.close()
  }
})

test('a chat that appears here while its files are stored is not replaced', async ({ bench }) => {
  const attachments = [{ file_name: 'a.txt', extracted_content: 'text' }]
  const chat = { ...claude('a'), chat_messages: [{ sender: 'human', text: 'A', attachments }] }
  const path = bench.write('a.json', [chat])
  const store: typeof bench.target.store = async (...given) => {
    await bench.import(path)
    bench.append(bench.chat().id, {
      t: 'message',
      message: { id: 'm3', role: 'user', content: 'B', timestamp: 1 },
    })
    return bench.target.store(...given)
  }
  const report = await bench.import(path, { target: { ...bench.target, store } })
  assert.is(report.counts.kept, 1)
  assert.is(spoken(bench.chat()).length, 2)
})

test('a file that was changed here stays, and its name does not depend on the branch that was shown', async ({
  bench,
}) => {
  const file = (text: string) => [{ file_name: 'n.txt', extracted_content: text }]
  const said = (uuid: string, parent: string, sender: string, text: string) => ({
    ...{ uuid, parent_message_uuid: parent, sender, text: uuid, attachments: file(text) },
  })
  const none = '00000000-0000-4000-8000-000000000000'
  const messages = [said('q', none, 'human', 'first'), said('r', none, 'human', 'second')]
  const chat = { ...claude('a'), chat_messages: messages, current_leaf_message_uuid: 'q' }
  assert.is((await bench.import(bench.write('a.json', [chat]))).files, 2)
  const { id } = bench.chat()
  writeFileSync(join(bench.workspace, `imported-files/${id}/n.txt`), 'changed here')
  const later = {
    ...{ ...chat, current_leaf_message_uuid: 's', updated_at: '2025-02-01T00:00:00Z' },
    chat_messages: [...messages, said('s', 'r', 'assistant', 'third')],
  }
  const report = await bench.import(bench.write('b.json', [later]))
  assert.equal([report.counts.updated, report.files], [1, 1])
  assert.equal(
    ['n.txt', 'n-2.txt', 'n-3.txt'].map(name =>
      bench.stored(`imported-files/${id}/${name}`)?.toString(),
    ),
    ['changed here', 'second', 'third'],
  )
  assert.equal(bench.chat().messages[0]?.attachments, [`imported-files/${id}/n-2.txt`])
})

test('a file that could not be stored is tried again; a full disk ends the import', async ({
  bench,
}) => {
  const attachments = [{ file_name: 'a.txt', extracted_content: 'text' }]
  const chat = { ...claude('a'), chat_messages: [{ sender: 'human', text: 'A', attachments }] }
  const path = bench.write('a.json', [chat, claude('b', 'B')])
  const fail = (error: Error) => (): never => {
    throw error
  }
  const plain = bench.write('b.json', [claude('b', 'B')])
  for (const [key, file] of Object.entries({ store: path, write: plain })) {
    const target = { ...bench.target, [key]: fail(diskFull('full')) }
    assert.is(await codeOf(bench.import(file, { target })), 'disk_full')
    assert.equal(bench.ids(), [])
  }
  const target = { ...bench.target, store: fail(new Error('refused')) }
  const first = await bench.import(path, { target })
  assert.equal(
    [first.counts.new, first.files, first.left_out.map(({ code }) => code)],
    [2, 0, ['file_not_stored']],
  )
  const second = await bench.import(path)
  assert.equal([second.counts.updated, second.counts.unchanged, second.files], [1, 1, 1])
})

test('a long name in any script is shortened to what file systems take', async ({ bench }) => {
  const names = ['漢', '𠀀', 'ä', 'x'].map(letter => `${letter.repeat(200)}.txt`)
  const attachments = names.map(file_name => ({ file_name, extracted_content: 'text' }))
  const chat = { ...claude('a'), chat_messages: [{ sender: 'human', text: 'A', attachments }] }
  const report = await bench.import(bench.write('a.json', [chat]))
  assert.equal([report.files, report.left_out], [4, []])
  for (const path of bench.chat().messages[0]?.attachments ?? []) assert.ok(bench.stored(path))
})

test('answers that branch at each step are set aside before they fill the memory', async ({
  bench,
}) => {
  const said = (parent: string | null, role: string) => ({
    parent,
    message: { author: { role }, content: { parts: ['x'] } },
  })
  const steps = Array.from({ length: 3_000 }, (_, n) => [
    [`a${n}`, said(n === 0 ? null : `a${n - 1}`, 'assistant')],
    [`b${n}`, said(n === 0 ? null : `a${n - 1}`, 'assistant')],
  ])
  const wide = { title: 'Wide', conversation_id: 'w', mapping: Object.fromEntries(steps.flat()) }
  const report = await bench.import(bench.write('a.json', [wide]))
  assert.equal([report.problems, bench.ids()], [[{ name: 'Wide', code: 'unreadable' }], []])
})

test('a conversation without any time is the same when it is imported again', async ({ bench }) => {
  const path = bench.write('a.json', [
    { uuid: 'a', chat_messages: [{ sender: 'human', text: 'A' }] },
  ])
  await bench.import(path)
  const target = { ...bench.target, now: () => bench.target.now() + 500 }
  assert.is((await bench.import(path, { target })).counts.unchanged, 1)
  assert.is(bench.chat().created_at, 1_800_000_000)
})

test('files of one name, in any case, do not replace each other; odd names are plain ones', async ({
  bench,
}) => {
  const names = ['a.txt', 'A.TXT', '../../a.txt', '.env.txt', 'CLAUDE.md', 'C:\\b\u0000?.csv', '..']
  const attachments = names.map((name, n) => ({ file_name: name, extracted_content: `${n}` }))
  const chat = { ...claude('a', 'A'), chat_messages: [{ sender: 'human', text: 'A', attachments }] }
  const report = await bench.import(bench.write('a.json', [chat]))
  assert.equal([report.files, report.left_out], [names.length, []])
  const { id, messages } = bench.chat()
  const paths = messages[0]?.attachments ?? []
  assert.equal(
    paths.map(path => path.replace(`imported-files/${id}/`, '')),
    ['a.txt', 'A-2.TXT', 'a-3.txt', 'env.txt', 'file-CLAUDE.md', 'b__.csv', 'txt'],
  )
  assert.equal(
    paths.map(path => bench.stored(path)?.toString()),
    names.map((_, n) => `${n}`),
  )
})

test('times that cannot be true are taken for none', async ({ bench }) => {
  for (const [at, time] of Object.entries({
    zero: 0,
    ahead: 9e9,
    endless: 1e300,
    words: 'soon',
    below: -5,
  })) {
    const message = { sender: 'human', text: at, created_at: time }
    const chat = {
      uuid: at,
      name: at,
      created_at: time,
      updated_at: time,
      chat_messages: [message],
    }
    await bench.import(bench.write('a.json', [chat]))
    const { created_at, updated_at, messages } = bench.chat(at)
    assert.equal([created_at, updated_at, messages[0]?.timestamp], [1.8e9, 1.8e9, 1.8e9], at)
  }
})

test('a session with a line that cannot be read is not replaced', async ({ bench }) => {
  await bench.import(bench.write('1.json', [claude('a', 'A')]))
  const { id } = bench.chat()
  appendFileSync(bench.files.jsonl(id), '{"n": 9, "t": "message", torn\n')
  const report = await bench.import(bench.write('2.json', [claude('a', 'A', 'B')]))
  assert.is(report.counts.kept, 1)
})

test('a dry run reports and writes nothing', async ({ bench }) => {
  const report = await bench.import(bench.write('a.json', [claude('a', 'A')]), { isDryRun: true })
  assert.is(report.counts.new, 1)
  assert.equal(bench.ids(), [])
})

test('our own export comes back as it was', async ({ bench }) => {
  const tools = [
    { id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } },
  ]
  const path = bench.write('own.json', {
    session_id: 'abc',
    title: 'Mine',
    workspace: '/elsewhere',
    created_at: 1_700_000_000,
    updated_at: 1_700_000_900.5,
    pinned: true,
    yolo: true,
    messages: [
      { role: 'user', content: 'List', timestamp: 1_700_000_000 },
      {
        role: 'assistant',
        content: '',
        tool_calls: tools,
        reasoning: 'hm',
        timestamp: 1_700_000_100,
      },
      { role: 'tool', tool_call_id: 'c1', content: 'a b', timestamp: 1_700_000_100 },
      { role: 'assistant', content: 'Two files.', model: 'x', timestamp: 1_700_000_200 },
    ],
  })
  await bench.import(path)
  const { record } = toRecord(bench.chat())
  assert.not.ok('yolo' in record)
  assert.is(record.workspace, bench.workspace)
  const next = openImports()
  try {
    await next.import(next.write('again.json', record))
    const {
      session_id: _,
      workspace: __,
      imported: ___,
      ...then
    } = toRecord(next.chat()).record as Record<string, unknown>
    const {
      session_id: ____,
      workspace: _____,
      imported: ______,
      ...before
    } = record as Record<string, unknown>
    assert.equal(then, before)
  } finally {
    next.close()
  }
})

test('of our own exports, branches follow their chats, and chats without an id are chats of their own', async ({
  bench,
}) => {
  const own = (session_id: string, more: object = {}) => ({
    ...{ session_id, title: session_id, ...more },
    messages: [{ role: 'user', content: JSON.stringify(more), timestamp: 1_700_000_000 }],
  })
  const branch = own('branch', { parent_session_id: 'whole' })
  const nameless = ['1', '2'].map(title => own('', { title }))
  await bench.import(bench.write('a.json', [own('whole'), branch, ...nameless]))
  assert.is(bench.chat('branch').meta.parent_session_id, bench.chat('whole').id)
  assert.is(bench.ids().length, 4)
})

test.run()
