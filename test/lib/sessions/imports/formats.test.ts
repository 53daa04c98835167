/** What each format becomes: branches as versions, code, reasoning, tools, citations, files, and what is left out. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readChatGpt } from '../../../../lib/sessions/imports/chatgpt.ts'
import { readClaude } from '../../../../lib/sessions/imports/claude.ts'
import { readOpenWebUi } from '../../../../lib/sessions/imports/open-webui.ts'
import type { ImportReport } from '../../../../lib/schema/import.ts'
import { type ImportBench, openImports, spoken } from './_bench.ts'

type Test = { bench: ImportBench }
const test = suite<Test>('formats of imports')
test.before.each(context => {
  context.bench = openImports()
})
test.after.each(({ bench }) => bench.close())

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const leftOut = ({ left_out }: ImportReport): Record<string, number> =>
  Object.fromEntries(left_out.map(({ code, count }) => [code, count]))

// ── ChatGPT ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Said = { role?: string; text?: string; content?: object; [key: string]: unknown }

/** `[id, parent, message]`; the children follow from the parents. */
const mapping = (...nodes: [id: string, parent: string | null, said: Said | null][]) =>
  Object.fromEntries(
    nodes.map(([id, parent, said], index) => {
      const { role = 'assistant', text = '', content, name, ...more } = said ?? {}
      const message = said && {
        id,
        author: { role, name: name ?? null, metadata: {} },
        create_time: 1_700_000_000 + index,
        content: content ?? { content_type: 'text', parts: [text] },
        recipient: 'all',
        metadata: {},
        ...more,
      }
      const children = nodes.filter(([, above]) => above === id).map(([child]) => child)
      return [id, { id, parent, children, message }]
    }),
  )

const chatGpt = (title: string, tree: object, current: string | null, more: object = {}) => ({
  title,
  create_time: 1_700_000_000.5,
  update_time: 1_700_009_000,
  mapping: tree,
  current_node: current,
  conversation_id: `c-${title}`,
  ...more,
})

test('ChatGPT: an edited message and another answer are versions', async ({ bench }) => {
  const tree = mapping(
    ['root', null, null],
    [
      'sys',
      'root',
      { role: 'system', text: '', metadata: { is_visually_hidden_from_conversation: true } },
    ],
    ['q1', 'sys', { role: 'user', text: 'Hello' }],
    ['a1', 'q1', { text: 'One', metadata: { model_slug: 'gpt-4o' } }],
    ['a2', 'q1', { text: 'Two' }],
    ['q2', 'a1', { role: 'user', text: 'And then' }],
    ['a3', 'q2', { text: 'Then' }],
    ['q3', 'a1', { role: 'user', text: 'And now' }],
    ['a4', 'q3', { text: 'Now' }],
  )
  const report = await bench.import(bench.write('a.json', [chatGpt('Tree', tree, 'a3')]))
  assert.is(report.source, 'chatgpt')
  assert.equal(leftOut(report), { hidden: 1 })
  assert.is(report.versions, 2)
  const chat = bench.chat('Tree')
  assert.equal(spoken(chat), ['user: Hello', 'assistant: One', 'user: And then', 'assistant: Then'])
  assert.is(chat.created_at, 1_700_000_000.5)
  assert.is(chat.updated_at, 1_700_009_000)
  assert.is(chat.messages[1]?.model, 'gpt-4o')
  assert.is(chat.messages[0]?.timestamp, 1_700_000_002)
  assert.is(chat.turn?.how, 'done')
  // Every branch can be shown, and what follows it was there before.
  const other = (id: string | undefined) =>
    chat.versions.find(group => group.includes(id ?? ''))?.find(each => each !== id) ?? ''
  const [hello, , then] = chat.messages.map(({ id }) => id)
  assert.equal(spoken({ messages: bench.show(chat.id, other(then)) }), [
    'user: Hello',
    'assistant: One',
    'user: And now',
    'assistant: Now',
  ])
  assert.equal(spoken({ messages: bench.show(chat.id, other(hello)) }), [
    'user: Hello',
    'assistant: Two',
  ])
  assert.is(bench.show(chat.id, hello ?? '').length, 4)
})

test('ChatGPT: code, its output, reasoning, canvas, and citations', async ({ bench }) => {
  const tree = mapping(
    ['root', null, null],
    [
      'i',
      'root',
      {
        role: 'user',
        content: {
          content_type: 'user_editable_context',
          user_profile: 'P',
          user_instructions: 'I',
        },
      },
    ],
    [
      'm',
      'i',
      {
        role: 'assistant',
        content: { content_type: 'model_editable_context', model_set_context: 'x' },
      },
    ],
    ['q', 'm', { role: 'user', text: 'Compute' }],
    [
      't',
      'q',
      {
        content: {
          content_type: 'thoughts',
          thoughts: [{ summary: 'Plan', content: 'I compute.' }],
        },
      },
    ],
    ['r', 't', { content: { content_type: 'reasoning_recap', content: 'Thought for 2s' } }],
    [
      'c',
      'r',
      {
        recipient: 'python',
        content: { content_type: 'code', language: 'python', text: 'print(6*7)' },
      },
    ],
    [
      'o',
      'c',
      { role: 'tool', name: 'python', content: { content_type: 'execution_output', text: '42' } },
    ],
    [
      'o2',
      'o',
      {
        role: 'tool',
        name: 'python',
        content: { content_type: 'execution_output', text: 'again' },
      },
    ],
    [
      'd',
      'o2',
      {
        recipient: 'canmore.create_textdoc',
        content: {
          content_type: 'code',
          text: JSON.stringify({ name: 'Notes', type: 'code/python', content: 'x = "```"' }),
        },
      },
    ],
    [
      'a',
      'd',
      {
        text: 'It is 42【1†source】. See \ue200cite\ue202turn0search0\ue201.',
        metadata: {
          citations: [
            {
              start_ix: 8,
              end_ix: 18,
              metadata: { type: 'webpage', title: 'A [b]', url: 'https://a.example/x_(y)' },
            },
          ],
          content_references: [
            {
              matched_text: '\ue200cite\ue202turn0search0\ue201',
              items: [
                { title: 'B', url: 'https://b.example/' },
                { title: 'Bad', url: 'javascript:alert(1)' },
              ],
            },
          ],
        },
      },
    ],
    [
      'w',
      'a',
      { role: 'tool', name: 'web.run', content: { content_type: 'future_thing', stuff: 1 } },
    ],
  )
  const report = await bench.import(bench.write('a.json', [chatGpt('Code', tree, 'w')]))
  assert.equal(leftOut(report), { instructions: 1, memory: 1, part_unknown: 1 })
  const chat = bench.chat('Code')
  const [, call, output, answer] = chat.messages
  assert.equal(spoken(chat).slice(0, 3), [
    'user: Compute',
    'assistant:  >python({"code":"print(6*7)"})',
    'tool: 42',
  ])
  assert.is(call?.reasoning, 'Plan\n\nI compute.')
  assert.is(output?.tool_call_id, call?.tool_calls?.[0]?.id)
  const rest = [answer, ...chat.messages.slice(4)].map(message => message?.content).join('\n\n')
  assert.match(rest, /```\nagain\n```/)
  assert.match(rest, /\*\*Notes\*\*\n\n````python\nx = "```"\n````/)
  assert.ok(
    rest.includes(
      'It is 42 ([A \\[b\\]](https://a.example/x_%28y%29)). See  ([B](https://b.example/), Bad).',
    ),
  )
})

test('ChatGPT: files by their ids, pictures of the assistant, recordings, and what is missing', async ({
  bench,
}) => {
  const image = (id: string) => ({
    content_type: 'image_asset_pointer',
    asset_pointer: id,
    width: 1,
    height: 1,
  })
  const tree = mapping(
    [
      'q',
      null,
      {
        role: 'user',
        content: {
          content_type: 'multimodal_text',
          parts: [
            image('file-service://file-AbC'),
            'Look',
            image('sediment://file_00ff'),
            { content_type: 'audio_transcription', text: 'spoken' },
            { content_type: 'odd_part' },
          ],
        },
        metadata: {
          attachments: [
            { id: 'file-AbC', name: '../../Ein Bild.png' },
            { id: 'file-Doc', name: 'report.pdf' },
            { id: 'file-Gone', name: 'gone.txt' },
          ],
        },
      },
    ],
    [
      'a',
      'q',
      {
        role: 'tool',
        name: 'dalle.text2im',
        content: { content_type: 'multimodal_text', parts: [image('file-service://file-Dal')] },
      },
    ],
    ['b', 'a', { text: 'Here it is.' }],
  )
  const path = await bench.zip({
    'conversations-000.json': [
      chatGpt('Files', tree, 'b', { is_archived: true, is_starred: true, gizmo_id: 'g-p-123' }),
    ],
    'file-AbC-Ein Bild.png': PNG,
    'assets/file_00ff.dat': PNG,
    'file-Doc-report.pdf': 'PDF',
    'dalle-generations/file-Dal-1b4e28ba-2fa1-11d2-883f-0016d3cca427.webp': 'WEBP',
    'file-Other.png': 'other',
  })
  const report = await bench.import(path)
  assert.equal(leftOut(report), { project_unnamed: 1, part_unknown: 1, file_missing: 1 })
  assert.equal(report.left_out.find(({ code }) => code === 'file_missing')?.names, ['gone.txt'])
  assert.is(report.files, 4)
  const { id, meta, messages } = bench.chat('Files')
  assert.is(meta.archived, true)
  assert.is(meta.pinned, true)
  const folder = `imported-files/${id}`
  const [asked, shown] = messages
  assert.equal(asked?.attachments, [
    `${folder}/Ein_Bild.png`,
    `${folder}/file_00ff.png`,
    `${folder}/report.pdf`,
  ])
  assert.is(
    asked?.content,
    `Look\n\nspoken\n\n[File not in the export: gone.txt]\n\n[Attached files: ${asked?.attachments?.join(', ')}]`,
  )
  assert.match(String(shown?.content), /^!\[(1b4e.*webp)\]\(imported-files\/.*\/\1\)$/)
  assert.equal(bench.stored(`${folder}/file_00ff.png`), PNG)
  assert.is(bench.stored(`${folder}/report.pdf`)?.toString(), 'PDF')
  // The same export with one more file: it is added.
  const more = await bench.zip({
    'conversations.json': [
      chatGpt('Files', tree, 'b', { is_archived: true, is_starred: true, gizmo_id: 'g-p-123' }),
    ],
    'file-Gone-gone.txt': 'found',
  })
  assert.is((await bench.import(more)).counts.updated, 1)
})

test('ChatGPT: odd trees lose nothing', async ({ bench }) => {
  const ring = mapping(['a', 'b', { role: 'user', text: 'A' }], ['b', 'a', { text: 'B' }])
  const orphan = mapping(['x', 'nowhere', { role: 'user', text: 'X' }], ['y', 'x', { text: 'Y' }])
  const greeting = mapping(
    ['g1', null, { text: 'Welcome' }],
    ['g2', null, { text: 'Hi there' }],
    ['q', 'g2', { role: 'user', text: 'Hello' }],
  )
  const self = mapping(['s', 's', { role: 'user', text: 'Self' }])
  const hidden = mapping(
    ['q', null, { role: 'user', text: 'Q' }],
    ['h1', 'q', { role: 'system', text: 'x' }],
    ['h2', 'h1', null],
    ['a', 'h2', { text: 'A' }],
  )
  const list = { ring, orphan, greeting, self, hidden }
  const report = await bench.import(
    bench.write(
      'a.json',
      Object.entries(list).map(([title, tree]) => chatGpt(title, tree, 'gone')),
    ),
  )
  assert.is(report.problem_count, 0)
  assert.is(report.counts.new, 6)
  assert.equal(spoken(bench.chat('ring')), ['user: A', 'assistant: B'])
  assert.equal(spoken(bench.chat('orphan')), ['user: X', 'assistant: Y'])
  assert.equal(spoken(bench.chat('self')), ['user: Self'])
  assert.equal(spoken(bench.chat('hidden')), ['user: Q', 'assistant: A'])
  const two = [bench.chat('greeting'), bench.chat('greeting (2)')]
  assert.equal(two.map(spoken).toSorted(), [
    ['assistant: Hi there', 'user: Hello'],
    ['assistant: Welcome'],
  ])
  assert.is(two[1]?.meta.parent_session_id, two[0]?.id)
})

test('a conversation of ten thousand messages, and one with a branch at each', async ({
  bench,
}) => {
  const long = mapping(
    ...Array.from({ length: 10_000 }, (_, n): [string, string | null, Said] => [
      `${n}`,
      n === 0 ? null : `${n - 1}`,
      { role: n % 2 === 0 ? 'user' : 'assistant', text: `${n}` },
    ]).slice(0, 10_000),
  )
  // The helper looks for children with each node: only the parents count here.
  const wide = Array.from({ length: 300 }, (_, n): [string, string | null, Said][] => [
    [`q${n}`, n === 0 ? null : `a${n - 1}`, { role: 'user', text: `q${n}` }],
    [`e${n}`, n === 0 ? null : `a${n - 1}`, { role: 'user', text: `e${n}` }],
    [`a${n}`, `q${n}`, { text: `a${n}` }],
    [`b${n}`, `q${n}`, { text: `b${n}` }],
  ]).flat()
  const report = await bench.import(
    bench.write('a.json', [
      chatGpt('long', long, '9999'),
      chatGpt('wide', mapping(...wide), 'a299'),
    ]),
  )
  assert.is(report.counts.new, 2)
  assert.is(bench.chat('long').messages.length, 10_000)
  assert.equal(
    spoken(bench.chat('wide')),
    Array.from({ length: 300 }, (_, n) => [`user: q${n}`, `assistant: a${n}`]).flat(),
  )
  // Of each message three: as it was, the same with the other answer, and the edited one.
  assert.ok(bench.chat('wide').versions.every(group => group.length === 3))
})

// ── Claude ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test('Claude: blocks, artifacts, tools, files, branches, and projects', async ({ bench }) => {
  const at = (minute: number) => `2025-03-01T10:0${minute}:00.123456Z`
  const conversation = {
    uuid: 'u1',
    name: 'Claude chat',
    created_at: at(0),
    updated_at: at(9),
    project_uuid: 'p1',
    is_starred: true,
    current_leaf_message_uuid: 'm2',
    chat_messages: [
      {
        uuid: 'm1',
        sender: 'human',
        text: 'Write it',
        content: [{ type: 'text', text: 'Write it' }],
        created_at: at(1),
        parent_message_uuid: '00000000-0000-4000-8000-000000000000',
        attachments: [
          { file_name: 'data.csv', extracted_content: 'a,b' },
          { file_name: 'paper.pdf', extracted_content: 'Words' },
        ],
        files: [
          { file_name: 'photo.png', file_uuid: '1b4e28ba-2fa1-11d2-883f-0016d3cca427' },
          { file_name: 'lost.png' },
        ],
      },
      {
        uuid: 'm2',
        sender: 'assistant',
        text: '',
        parent_message_uuid: 'm1',
        created_at: at(2),
        content: [
          { type: 'thinking', thinking: 'Let me see.' },
          { type: 'text', text: 'I look.', citations: [{ url: 'https://c.example/', title: 'C' }] },
          { type: 'tool_use', id: 't1', name: 'web_search', input: { query: 'x' } },
          {
            type: 'tool_result',
            tool_use_id: 't1',
            name: 'web_search',
            content: [
              { type: 'knowledge', title: 'T', url: 'https://t.example/' },
              { type: 'text', text: 'found' },
            ],
          },
          {
            type: 'tool_use',
            id: 't2',
            name: 'artifacts',
            input: {
              command: 'create',
              id: 'x',
              type: 'application/vnd.ant.code',
              language: 'python',
              title: 'Script',
              content: 'print(1)',
            },
          },
          {
            type: 'tool_result',
            tool_use_id: 't2',
            name: 'artifacts',
            content: [{ type: 'text', text: 'OK' }],
          },
          {
            type: 'tool_use',
            id: 't3',
            name: 'artifacts',
            input: { command: 'update', id: 'x', old_str: '1', new_str: '2' },
          },
          {
            type: 'text',
            text: 'Done. <antArtifact identifier="y" type="text/markdown" title="Old one"># T</antArtifact> End',
          },
          { type: 'token_budget' },
          { type: 'hologram' },
        ],
      },
      {
        uuid: 'm3',
        sender: 'assistant',
        text: 'Another',
        parent_message_uuid: 'm1',
        created_at: at(3),
      },
    ],
  }
  const path = await bench.zip({
    'conversations.json': [conversation],
    'users.json': [{ uuid: 'me' }],
    'projects.json': [
      {
        uuid: 'p1',
        name: 'Novel',
        prompt_template: 'Be brief',
        docs: [{ filename: 'plot.md', content: 'x' }],
      },
    ],
    'files/1b4e28ba-2fa1-11d2-883f-0016d3cca427/photo.png': PNG,
  })
  const report = await bench.import(path)
  assert.is(report.source, 'claude')
  assert.equal(leftOut(report), {
    project_files: 1,
    instructions: 1,
    part_unknown: 1,
    file_missing: 1,
  })
  const chat = bench.chat('Claude chat')
  assert.equal(
    bench.projects.map(({ name }) => name),
    ['Novel'],
  )
  assert.is(chat.meta.project_id, bench.projects[0]?.project_id)
  assert.is(chat.meta.pinned, true)
  const folder = `imported-files/${chat.id}`
  assert.equal(chat.messages[0]?.attachments, [
    `${folder}/data.csv`,
    `${folder}/paper.pdf.txt`,
    `${folder}/photo.png`,
  ])
  assert.is(bench.stored(`${folder}/data.csv`)?.toString(), 'a,b')
  assert.equal(bench.stored(`${folder}/photo.png`), PNG)
  assert.equal(spoken(chat).slice(1), [
    'assistant: I look.\n\n- [C](https://c.example/) >web_search({"query":"x"})',
    'tool: [T](https://t.example/)\nfound',
    'assistant: **Script**\n\n```python\nprint(1)\n``` >artifacts({"command":"update","id":"x","old_str":"1","new_str":"2"})',
    'tool: OK',
    'assistant: Done. \n\n**Old one**\n\n# T\n\n End',
  ])
  assert.is(chat.messages[1]?.reasoning, 'Let me see.')
  assert.is(chat.messages[1]?.timestamp, Date.parse(at(2)) / 1000 - 0.123)
  assert.is((await bench.import(path, { isDryRun: true })).counts.unchanged, 1)
  const [first] = chat.versions[0] ?? []
  assert.ok(spoken({ messages: bench.show(chat.id, first!) }).includes('assistant: Another'))
})

// ── LibreChat ───────────────────────────────────────────────────────────────────────────────────────────────────────

const NONE = '00000000-0000-0000-0000-000000000000'

test('LibreChat: trees, flat lists with and without parents, and content parts', async ({
  bench,
}) => {
  const said = (
    messageId: string,
    parentMessageId: string | null,
    text: string,
    more: object = {},
  ) => ({
    messageId,
    parentMessageId,
    text,
    isCreatedByUser: messageId.startsWith('q'),
    sender: messageId.startsWith('q') ? 'User' : 'GPT',
    createdAt: `2025-05-0${messageId.slice(1)}T00:00:00.000Z`,
    ...more,
  })
  const parts = [
    { type: 'think', think: 'Hm.' },
    { type: 'text', text: { value: 'I look.' } },
    {
      type: 'tool_call',
      tool_call: { id: 'c1', name: 'search', args: '{"q":1}', output: 'hit', type: 'tool_call' },
    },
    { type: 'image_file', image_file: { filename: 'plot.png', file_id: 'f1' } },
    { type: 'agent_update', agent_update: {} },
    { type: 'video_hologram' },
    { type: 'text', text: 'Done.' },
  ]
  const q1 = said('q1', NONE, 'Hello', {
    files: [{ file_id: 'f2', filename: 'doc.pdf', type: 'application/pdf' }],
  })
  const a2 = said('a2', 'q1', '', {
    content: parts,
    model: 'gpt-4o',
    feedback: { rating: 'thumbsUp' },
  })
  const a3 = said('a3', 'q1', 'Other answer')
  const q4 = said('q4', 'a2', 'Thanks')
  const options = { model: 'gpt-4o', promptPrefix: 'You are brief.', tags: ['Work Notes'] }
  const about = { endpoint: 'openAI', title: 'T', options }
  const flat = {
    ...about,
    conversationId: 'flat',
    title: 'flat',
    recursive: false,
    messages: [q1, a2, a3, q4],
  }
  const tree = {
    ...about,
    conversationId: 'tree',
    title: 'tree',
    recursive: true,
    messages: [
      {
        ...q1,
        children: [
          { ...a2, children: [{ ...q4, children: [] }] },
          { ...a3, children: [] },
        ],
      },
    ],
  }
  const older = { conversationId: 'older', title: 'older', messagesTree: tree.messages }
  const bare = {
    conversationId: 'bare',
    title: 'bare',
    messages: [
      { text: 'Hi', isCreatedByUser: true },
      { text: 'Ho', isCreatedByUser: false },
    ],
  }
  for (const [name, value] of Object.entries({ flat, tree, older })) {
    const report = await bench.import(bench.write(`${name}.json`, value))
    assert.is(report.source, 'librechat')
    const { instructions = 0, ...rest } = leftOut(report)
    assert.is(instructions, name === 'older' ? 0 : 1)
    // The message that was answered twice is there twice, its file is one.
    assert.equal(rest, { rating: 1, part_unknown: 1, file_missing: 2 })
    const chat = bench.chat(name === 'older' ? name : `${name} #work-notes`)
    assert.equal(spoken(chat), [
      'user: Hello\n\n[File not in the export: doc.pdf]',
      'assistant: I look. >search({"q":1})',
      'tool: hit',
      'assistant: [File not in the export: plot.png]\n\nDone.',
      'user: Thanks',
    ])
    assert.is(chat.versions.length, 1)
    assert.is(chat.updated_at, Date.parse('2025-05-04') / 1000)
  }
  await bench.import(bench.write('bare.json', [bare]))
  assert.equal(spoken(bench.chat('bare')), ['user: Hi', 'assistant: Ho'])
})

test('LibreChat: a tree of thousands of messages inside each other', async ({ bench }) => {
  let text = '[]'
  for (let n = 4_999; n >= 0; n--)
    text = `[{"messageId":"m${n}","text":"${n}","isCreatedByUser":${n % 2 === 0},"children":${text}}]`
  const report = await bench.import(
    bench.write('deep.json', `{"conversationId":"deep","title":"deep","messagesTree":${text}}`),
  )
  assert.equal(report.problems, [])
  assert.is(bench.chat('deep').messages.length, 5_000)
})

// ── Open WebUI ──────────────────────────────────────────────────────────────────────────────────────────────────────

test('Open WebUI: trees, details, output items, sources, files, tags, and folders', async ({
  bench,
}) => {
  const picture = `data:image/png;base64,${PNG.toString('base64')}`
  const messages = {
    q1: {
      id: 'q1',
      parentId: null,
      childrenIds: ['a1', 'a2'],
      role: 'user',
      content: 'Hello',
      timestamp: 1_700_000_000,
      files: [
        { type: 'image', url: picture },
        {
          type: 'file',
          id: 'f1',
          name: 'notes.docx',
          file: { id: 'f1', filename: 'notes.docx', data: { content: 'Extracted' } },
        },
        { type: 'file', id: 'f2', name: 'gone.pdf' },
      ],
    },
    a1: {
      id: 'a1',
      parentId: 'q1',
      childrenIds: [],
      role: 'assistant',
      model: 'llama3',
      timestamp: 1_700_000_001_000,
      content:
        '<details type="reasoning" done="true" duration="2">\n<summary>Thought for 2 seconds</summary>\n&gt; I think &lt;b&gt;\n&gt; so\n</details>\nBefore\n<details type="tool_calls" done="true" id="c1" name="weather" arguments="&quot;{\\&quot;city\\&quot;: \\&quot;Paris\\&quot;}&quot;" result="&quot;18 C&quot;">\n<summary>Tool Executed</summary>\n</details>\n<details type="code_interpreter" done="true" output="{&quot;stdout&quot;: &quot;1&quot;}">\n<summary>Analyzed</summary>\n```python\nprint(1)\n```\n</details>\nAfter <details><summary>Mine</summary>stays</details>',
      sources: [{ source: { name: 'Doc' }, metadata: [{ source: 'https://s.example/' }] }],
      annotation: { rating: 1 },
    },
    a2: {
      id: 'a2',
      parentId: 'q1',
      childrenIds: [],
      role: 'assistant',
      model: 'gpt',
      content: 'ignored',
      timestamp: 1_700_000_002,
      output: [
        { type: 'reasoning', content: [{ type: 'output_text', text: 'Thinking' }] },
        { type: 'function_call', call_id: 'x', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'x', output: [{ type: 'input_text', text: 'r' }] },
        { type: 'message', content: [{ type: 'output_text', text: 'Two' }] },
        { type: 'novelty' },
      ],
    },
  }
  const chat = {
    id: 'o1',
    user_id: 'u',
    title: 'Open',
    created_at: 1_700_000_000,
    updated_at: 1_700_000_100,
    archived: true,
    pinned: true,
    folder_id: 'fold',
    meta: { tags: ['science', 'a b'] },
    chat: {
      title: 'Open',
      models: ['llama3'],
      system: 'Be kind',
      history: { currentId: 'a1', messages },
    },
  }
  const older = {
    title: 'Older',
    timestamp: 1_700_000_000_000,
    chat: {
      id: 'o2',
      messages: [
        { role: 'user', content: 'A' },
        { role: 'assistant', content: 'B' },
      ],
      history: {},
    },
  }
  const report = await bench.import(bench.write('a.json', [chat, older]))
  assert.is(report.source, 'open-webui')
  assert.equal(leftOut(report), {
    rating: 1,
    part_unknown: 1,
    instructions: 1,
    project_unnamed: 1,
    file_missing: 1,
  })
  const read = bench.chat('Open #science #a-b')
  assert.is(read.meta.archived, true)
  assert.is(read.meta.pinned, true)
  const folder = `imported-files/${read.id}`
  assert.equal(read.messages[0]?.attachments, [`${folder}/image.png`, `${folder}/notes.docx.txt`])
  assert.equal(bench.stored(`${folder}/image.png`), PNG)
  assert.is(bench.stored(`${folder}/notes.docx.txt`)?.toString(), 'Extracted')
  assert.is(read.messages[1]?.reasoning, 'I think <b>\nso')
  assert.equal(spoken(read).slice(1), [
    'assistant: Before >weather({"city": "Paris"})',
    'tool: 18 C',
    'assistant:  >code_interpreter({"code":"print(1)"})',
    'tool: {"stdout": "1"}',
    'assistant: After <details><summary>Mine</summary>stays</details>\n\n- [Doc](https://s.example/)',
  ])
  const other = read.versions[0]?.find(id => id !== read.messages[0]?.id)
  assert.equal(spoken({ messages: bench.show(read.id, other!) }).slice(1), [
    'assistant:  >f({})',
    'tool: r',
    'assistant: Two',
  ])
  assert.equal(spoken(bench.chat('Older')), ['user: A', 'assistant: B'])
})

// ── What is beside the text ─────────────────────────────────────────────────────────────────────────────────────────

test('ChatGPT: pictures that code made are in the chat', async ({ bench }) => {
  const picture = { message_type: 'image', image_url: 'file-service://file-Plot', width: 1 }
  const tree = mapping(
    ['q', null, { role: 'user', text: 'Plot it' }],
    ['c', 'q', { content: { content_type: 'code', text: 'plot()' }, recipient: 'python' }],
    [
      'r',
      'c',
      {
        role: 'tool',
        content: { content_type: 'execution_output', text: '<Image>' },
        metadata: { aggregate_result: { messages: [picture, { message_type: 'stream' }] } },
      },
    ],
  )
  const archive = { 'conversations.json': [chatGpt('Plot', tree, 'r')], 'file-Plot.png': PNG }
  assert.is((await bench.import(await bench.zip(archive))).files, 1)
  const { id } = bench.chat()
  const path = `imported-files/${id}/file-Plot.png`
  assert.equal(spoken(bench.chat()).at(-1), `assistant: ![file-Plot.png](${path})`)
  assert.equal(bench.stored(path), PNG)
})

test('Claude: two files of one name, summaries of reasoning, updates of artifacts, pictures of tools', async ({
  bench,
}) => {
  const files = ['f1', 'f2'].map(file_uuid => ({ file_uuid, file_name: 'image.png' }))
  const update = { command: 'update', id: 'a', old_str: 'b', new_str: 'c' }
  const picture = { type: 'image', source: { type: 'base64', data: 'aGVsbG8=' } }
  const content = [
    { type: 'thinking', thinking: '', summaries: [{ summary: 'Considered' }] },
    { type: 'tool_use', id: 't1', name: 'artifacts', input: update },
    { type: 'tool_result', tool_use_id: 't1', name: 'artifacts', content: 'OK' },
    { type: 'tool_use', id: 't2', name: 'draw', input: {} },
    { type: 'tool_result', tool_use_id: 't2', name: 'draw', content: [picture] },
  ]
  const chat = {
    ...{ uuid: 'u', name: 'Beside' },
    chat_messages: [
      { sender: 'human', text: 'See', files: [{ file_name: 'image.png' }], files_v2: files },
      { sender: 'assistant', content },
    ],
  }
  const report = await bench.import(bench.write('a.json', [chat]))
  assert.equal(leftOut(report), { file_missing: 2 })
  assert.is(bench.chat().messages[1]?.reasoning, 'Considered')
  assert.equal(spoken(bench.chat()).slice(1), [
    `assistant:  >artifacts(${JSON.stringify(update)})`,
    'tool: OK',
    'assistant:  >draw({})',
    'tool: [Image]',
  ])
})

test('Open WebUI: merged answers, pictures in the content, failures, and reasoning that was cut off', async ({
  bench,
}) => {
  const cut = '<details type="reasoning" done="false">\n<summary>Thinking…</summary>\n> Hm'
  const url = `data:image/png;base64,${PNG.toString('base64')}`
  const said = (id: string, parentId: string | null, message: object) => ({
    [id]: { id, parentId, role: 'assistant', ...message },
  })
  const messages = {
    ...said('q', null, { role: 'user', content: [{ type: 'text', text: 'Q' }] }),
    ...said('a', 'q', { content: 'One', merged: { status: true, content: 'Both' } }),
    ...said('b', 'a', {
      content: [{ type: 'image_url', image_url: { url } }],
      error: { content: 'Broken pipe' },
    }),
    ...said('c', 'b', { content: cut }),
  }
  const chat = { id: 'x', title: 'Beside', chat: { history: { currentId: 'c', messages } } }
  const report = await bench.import(bench.write('a.json', [chat]))
  assert.equal([report.files, report.left_out], [1, []])
  const { id, messages: shown } = bench.chat()
  assert.equal(spoken(bench.chat()), [
    'user: Q',
    'assistant: One\n\nBoth',
    `assistant: Broken pipe\n\n![image.png](imported-files/${id}/image.png)`,
    'assistant: ',
  ])
  assert.is(shown[3]?.reasoning, 'Hm')
})

test('text that begins many elements and ends none takes no longer than other text', () => {
  const context = { leaveOut: () => undefined, projects: new Map() }
  const starts = ['<antArtifact ', '<antThinking>', '<details type="reasoning" ', '\ue200']
  const fence = '<details type="code_interpreter">\n```\n'
  for (const text of [...starts.map(start => start.repeat(400_000)), fence + '`'.repeat(400_000)]) {
    const message = { uuid: 'a', sender: 'assistant', role: 'assistant', text, content: text }
    const part = { author: { role: 'assistant' }, content: { parts: [text] } }
    readClaude({ chat_messages: [{ ...message, content: [] }] }, context)
    readOpenWebUi({ chat: { history: { messages: { a: message } } } }, context)
    readChatGpt({ mapping: { a: { message: part } } }, context)
  }
})

test.run()
