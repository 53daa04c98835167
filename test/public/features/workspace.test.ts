/** The workspace panel's state: paths, tree, open file, conflicts, git changes, CSV, media. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { ApiError } from '../../../public/api.ts'
import { parseCsv, separatorOf } from '../../../public/features/panel/csv-view.tsx'
import { formatBytes, languageOf } from '../../../public/parts/file-kind.ts'
import { kindOf } from '../../../public/features/workspace/document.ts'
import { lex } from '../../../lib/base/markdown/lexer.ts'
import { GitChanges, splitChanges } from '../../../public/features/workspace/git-changes.ts'
import { FileTree } from '../../../public/features/workspace/file-tree.ts'
import { FileUploads } from '../../../public/features/panel/workspace-panel.ts'
import type { Confirmation } from '../../../public/features/shell/layout.ts'
import { insideWorkspace, parseTarget, targetOf } from '../../../public/parts/target.ts'
import { ChatPanel, PanelFrame, panelOf } from '../../../public/features/panel/panel.ts'
import { canEdit, hasViews } from '../../../public/features/workspace/document.ts'
import { formatJson } from '../../../public/features/panel/text-view.tsx'
import { parseNotebook } from '../../../public/features/workspace/notebook.ts'
import { OpenFile } from '../../../public/features/workspace/open-file.ts'
import { Workspaces } from '../../../public/features/workspace/workspaces.ts'
import { stepOf } from '../../../public/features/panel/tree-view.tsx'
import { fakePlatform, fakeShell, settle } from '../_page.ts'

const { Markdown } = await import('../../../public/markdown/markdown.tsx')

const paths = suite('workspace: paths')

paths('names a folder as the person did, else by its own name', async () => {
  const { platform } = fakePlatform({
    'GET /api/workspaces': () => ({
      workspaces: [
        { path: '/w/shop', name: 'Home' },
        { path: '/w/api', name: 'Mine' },
      ],
      last: '/w/shop',
      scratch: '/s/workspace',
    }),
  })
  const workspaces = new Workspaces(platform)
  await workspaces.load()
  assert.equal(
    ['/w/shop', '/w/api', '/w/other', '/s/workspace'].map(path => workspaces.nameOf(path)),
    ['shop', 'Mine', 'other', 'Scratch folder'],
  )
})

paths('rejects paths outside of the workspace', () => {
  for (const path of ['/etc/passwd', '/w/projects/a', '../a', 'a/../../b', '~/x']) {
    assert.is(insideWorkspace('/w/project', path), null, path)
  }
  assert.is(insideWorkspace('/w/project', '/w/project/src/a.ts'), 'src/a.ts')
  assert.is(insideWorkspace('/w/project/', './src//a.ts'), 'src/a.ts')
  assert.is(insideWorkspace('/w/project', '/w/project'), '')
})

paths('parses and formats a file and line in links', () => {
  assert.equal(parseTarget('src/a.ts:12'), { path: 'src/a.ts', line: 12 })
  assert.equal(parseTarget('src/a.ts:12:4'), { path: 'src/a.ts', line: 12 })
  assert.equal(parseTarget('a:b'), { path: 'a:b', line: null })
  assert.equal(targetOf('http://h/session/1?file=src/a%20b.ts:3'), { path: 'src/a b.ts', line: 3 })
  assert.is(targetOf('http://h/session/1'), null)
})

paths('detects kind and language by name, and formats sizes', () => {
  assert.equal(['a.PNG', 'a.md', '.env', 'x.constructor', 'a.tar.gz', 'a.tsv'].map(kindOf), [
    'image',
    'markdown',
    'text',
    'text',
    'binary',
    'csv',
  ])
  assert.equal(['src/Dockerfile', 'a.b.ts', '.gitignore'].map(languageOf), ['dockerfile', 'ts', ''])
  assert.equal(
    [0, 999, 1500, 20_000_000].map(size => formatBytes(size)),
    ['0 bytes', '999 bytes', '1.5 kB', '20 MB'],
  )
})

paths('remembers the panel; as an overlay it never opens by itself', () => {
  const { platform, device } = fakePlatform()
  const open = () => panelOf(new PanelFrame(platform, 'http://h/'), new ChatPanel())
  const panel = open()
  panel.toggle()
  panel.resize(5000)
  assert.equal(
    [panel.isShown.value, panel.width.value, device.values.get('panel')],
    [true, 960, true],
  )
  const again = open()
  assert.ok(again.isShown.value)
  again.overlay.value = true
  assert.not.ok(again.isShown.value)
  again.openFile('a.ts', 3)
  assert.equal([again.isShown.value, again.target.value], [true, { path: 'a.ts', line: 3 }])
  again.hide()
  assert.is(device.values.get('panel'), true)
})

paths.run()

const entry = (path: string, type: 'dir' | 'file' = 'file') => ({
  name: path.split('/').at(-1)!,
  path,
  type,
  size: type === 'dir' ? null : 1,
})

const tree = async (answers: Parameters<typeof fakePlatform>[0] = {}, isRead = true) => {
  const disk: Record<string, ReturnType<typeof entry>[]> = {
    '.': [entry('src', 'dir'), entry('README.md')],
    src: [entry('src/lib', 'dir'), entry('src/a.ts'), entry('src/b.ts')],
    'src/lib': [entry('src/lib/c.ts')],
  }
  const fake = fakePlatform({
    'GET /api/list': ({ path }) => {
      const entries = disk[String(path)]
      if (!entries) throw new ApiError(404, 'Directory not found')
      return { entries, path, total: entries.length }
    },
    ...answers,
  })
  const shell = fakeShell(fake.platform)
  const { toasts } = shell
  const moved: [string, string | null][] = []
  const files = new FileTree(shell, 's', { onMoved: (from, to) => moved.push([from, to]) })
  const read = files.load('')
  if (isRead) await read
  return {
    ...fake,
    files,
    toasts,
    disk,
    moved,
    names: () => files.rows.value.map(row => row.path),
  }
}

const trees = suite('workspace: tree')

trees('shows a failed directory and retries', async () => {
  const { files, disk } = await tree()
  const root = disk['.']!
  delete disk['.']
  await files.load('')
  assert.is(files.directories.value.get('')?.state, 'failed')
  assert.is(files.rows.value.length, 2, 'what was known stays')
  disk['.'] = root
  await files.load('')
  assert.is(files.directories.value.get('')?.state, 'ready')
})

trees('ignores a listing that arrives after a newer one', async () => {
  const answers: ((name: string) => void)[] = []
  const { files: slow, names: shown } = await tree(
    {
      'GET /api/list': ({ path }) =>
        new Promise(resolve =>
          answers.push(name => resolve({ entries: [entry(name)], path, total: 1 })),
        ),
      'POST /api/file/rename': () => ({ ok: true }),
    },
    false,
  )
  answers[0]!('new.txt')
  await settle()
  void slow.load('')
  const renamed = slow.rename('new.txt', 'named.txt')
  await settle()
  answers[2]!('named.txt')
  await renamed
  assert.equal(shown(), ['named.txt'])
  answers[1]!('new.txt')
  await settle()
  assert.equal(shown(), ['named.txt'])
})

trees('loads a directory when it is expanded', async () => {
  const { files, names, service } = await tree()
  assert.equal(names(), ['src', 'README.md'])
  files.toggle('src')
  await settle()
  assert.equal(names(), ['src', 'src/lib', 'src/a.ts', 'src/b.ts', 'README.md'])
  assert.equal(
    service.of('GET /api/list').map(({ path }) => path),
    ['.', 'src'],
  )
  const row = files.rows.value[2]!
  assert.equal([row.level, row.position, row.siblingCount], [2, 2, 3])
  files.toggle('src')
  assert.equal(names(), ['src', 'README.md'])
})

trees('reveals a file by expanding all directories above it', async () => {
  const { files, names } = await tree()
  await files.reveal('src/lib/c.ts')
  assert.ok(names().includes('src/lib/c.ts'))
  assert.is(files.active.value, 'src/lib/c.ts')
})

trees('drops late replies for another workspace', async () => {
  const old = Promise.withResolvers<unknown>()
  const { files, names, moved, service } = await tree({
    'POST /api/file/rename': () => old.promise,
  })
  const answer = service.answers['GET /api/list']!
  service.answers['GET /api/list'] = () => old.promise
  const late = files.load('src')
  const renamed = files.rename('README.md', 'OLD.md')
  service.answers['GET /api/list'] = answer
  files.reset()
  await files.load('')
  old.resolve({ ok: true, entries: [entry('late')], path: '.', total: 1 })
  await Promise.all([late, renamed])
  assert.equal([names(), moved, files.active.value], [['src', 'README.md'], [], ''])
  assert.not.ok(files.directories.value.get('src'))
})

trees('toasts a rejected rename and reloads the tree', async () => {
  const { files, toasts, service } = await tree({
    'POST /api/file/rename': () => {
      throw new ApiError(400, 'A file named "b" already exists')
    },
  })
  assert.not.ok(await files.rename('README.md', 'b'))
  assert.match(toasts.list.value.at(-1)!.text, /already exists/)
  assert.is(service.of('GET /api/list').length, 2)
})

trees('keeps a renamed directory expanded', async () => {
  const { files, moved, disk, names } = await tree({
    'POST /api/file/rename': () => {
      disk['.'] = [entry('code', 'dir')]
      disk.code = [entry('code/a.ts')]
      return { ok: true }
    },
  })
  files.open('src')
  await settle()
  await files.rename('src', 'code')
  await settle()
  assert.equal([names(), moved], [['code', 'code/a.ts'], [['src', 'code']]])
})

trees('ignores a move into itself or into the same directory', async () => {
  const { files, service } = await tree({ 'POST /api/file/move': () => ({ ok: true }) })
  await files.move('src', 'src')
  await files.move('src', 'src/lib')
  await files.move('src/a.ts', 'src')
  assert.is(service.of('POST /api/file/move').length, 0)
  await files.move('src/a.ts', '')
  assert.equal(service.of('POST /api/file/move'), [
    { session_id: 's', path: 'src/a.ts', dest_dir: '.' },
  ])
})

trees('keyboard navigation of the tree', async () => {
  const { files } = await tree()
  files.open('src')
  await settle()
  const at = (path: string, key: string) => {
    const step = stepOf(files.rows.value, path, key)
    return step && (step.kind === 'go' ? step.path : step.kind)
  }
  assert.equal(
    ['ArrowDown', 'ArrowUp', 'End', 'ArrowRight', 'ArrowLeft', 'Enter', 'x'].map(key =>
      at('src', key),
    ),
    ['src/lib', null, 'README.md', 'src/lib', 'close', 'use', null],
  )
  assert.equal(
    ['ArrowLeft', 'ArrowRight', 'r', 'F2', 'Delete', 'Home'].map(key => at('src/b.ts', key)),
    ['src', null, 'README.md', 'rename', 'remove', 'src'],
  )
  assert.is(stepOf([], '', 'ArrowDown'), null)
})

trees(
  'files dropped on the tree go one after the other; one that is called off leaves',
  async () => {
    const sent: string[] = []
    const { platform } = fakePlatform({
      'POST /api/upload': ({ name, path }) => {
        sent.push(`${path ?? ''}/${name}`)
        if (name === 'bad') throw new ApiError(400, 'Invalid filename')
        return { filename: name, path: '', size: 1 }
      },
    })
    const shell = fakeShell(platform)
    const { toasts } = shell
    const arrived: string[] = []
    const uploads = new FileUploads(shell, 's', directory => arrived.push(directory))
    const done = uploads.add(
      [new File(['1'], 'a'), new File(['1'], 'bad'), new File(['1'], 'c')],
      'd',
    )
    uploads.cancel(uploads.list.value[2]!.id)
    await done
    assert.equal([sent, arrived, uploads.list.value], [['d/a', 'd/bad'], ['d'], []])
    assert.match(toasts.list.value.at(-1)!.text, /Couldn’t upload bad: Invalid filename/)
  },
)

trees.run()

const opened = async (answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const disk = { content: 'one\ntwo\n', version: 'v1' }
  const fake = fakePlatform({
    'GET /api/file': ({ path }) => ({ path, lines: 3, size: disk.content.length, ...disk }),
    'POST /api/file/save': ({ content, expected_version: expected, path }) => {
      if (expected !== disk.version)
        throw new ApiError(409, 'changed', { conflict: true, version: disk.version })
      disk.content = String(content)
      disk.version = `${disk.version}+`
      return { ok: true, path, size: disk.content.length, version: disk.version }
    },
    ...answers,
  })
  const shell = fakeShell(fake.platform)
  const { toasts } = shell
  const asked: Confirmation[] = []
  const urls: string[] = []
  const preview = new OpenFile(shell, 's', question => asked.push(question), undefined, {
    create: blob => `blob:${blob.type}:${urls.push('made')}`,
    revoke: url => urls.push(`gone ${url}`),
  })
  preview.enter('/w')
  preview.open({ path: 'a.ts', line: null })
  await settle()
  const doc = () => preview.doc.value!
  return { ...fake, preview, toasts, asked, disk, doc, urls }
}

const previews = suite('workspace: open file')

previews('shows binary and missing files as such', async () => {
  const refusals: Record<string, () => unknown> = {
    binary: () => ({ content: '', size: 9, lines: 0, version: 'v', binary: true }),
    failed: () => {
      throw new ApiError(404, 'File not found')
    },
  }
  for (const [state, answer] of Object.entries(refusals)) {
    const { doc } = await opened({ 'GET /api/file': answer })
    assert.is(doc().state, state)
    assert.not.ok(canEdit(doc()))
  }
})

previews(
  'reads a long file by pages, around the line that a link names, and edits none',
  async () => {
    const size = 1_000_000
    const at = (from: number, first_line: number | null) => ({
      ...{ path: 'a.ts', content: `from ${from}\n`, lines: 2, size, version: 'v' },
      ...{ from, to: Math.min(size, from + 200_000), first_line },
    })
    const { doc, preview, service } = await opened({
      'GET /api/file': ({ from, line }) =>
        line ? at(400_000, 7_000) : at(Number(from) < 0 ? size + Number(from) : Number(from), 1),
    })
    const asked = () => service.of('GET /api/file').at(-1)
    assert.equal([doc().content, doc().page], ['from 0\n', { from: 0, to: 200_000, first: 1 }])
    assert.not.ok(canEdit(doc()))
    await preview.turnPage('next')
    assert.is(doc().page?.from, 200_000)
    await preview.turnPage('last')
    assert.equal([doc().page?.from, doc().page?.to], [900_000, size])
    await preview.refresh()
    assert.is(asked()?.from, 900_000)
    await preview.turnPage('previous')
    assert.is(doc().page?.from, 700_000)
    preview.open({ path: 'log.md', line: 7_100 })
    await settle()
    assert.equal([asked()?.line, doc().page?.first, doc().mode], [7_100, 7_000, 'view'])
  },
)

previews(
  'a notebook too long for a text is loaded whole, an SVG shown as the image it is',
  async () => {
    const { doc, preview } = await opened({
      'GET /api/file': ({ path }) => ({
        ...{ path, content: '<', lines: 1, size: 300_000, version: 'v', from: 0, to: 200_000 },
      }),
    })
    preview.open({ path: 'big.svg', line: null })
    await settle()
    assert.is(doc().state, 'large')
    preview.open({ path: 'a.ipynb', line: null })
    await settle()
    assert.equal([doc().isLarge, doc().page, hasViews(doc())], [true, null, false])
  },
)

previews('lays out JSON without touching its numbers, and reads a notebook', () => {
  const dense = '{"a":[1.0,{"b":12345678901234567890}],"c":{},"d":[ ],"e":"x: {,}\\""}'
  assert.is(
    formatJson(dense),
    `{
  "a": [
    1.0,
    {
      "b": 12345678901234567890
    }
  ],
  "c": {},
  "d": [],
  "e": "x: {,}\\""
}
`,
  )
  assert.is(formatJson('{a: 1}'), null)
  const cells = [
    { cell_type: 'markdown', source: ['# A\n', 'b'] },
    {
      ...{ cell_type: 'code', source: 'plot()', execution_count: 2 },
      outputs: [
        { output_type: 'stream', text: ['1\n', '2'] },
        { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': 'no' } },
        { output_type: 'error', ename: 'E', evalue: 'bad', traceback: [] },
      ],
    },
  ]
  assert.equal(parseNotebook(JSON.stringify({ cells, metadata: {} })), {
    language: 'python',
    cells: [
      { kind: 'markdown', source: '# A\nb', count: null, outputs: [] },
      {
        kind: 'code',
        source: 'plot()',
        count: 2,
        outputs: [
          { kind: 'text', text: '1\n2' },
          { kind: 'image', type: 'image/png', data: 'AAAA' },
          { kind: 'text', text: 'E: bad' },
        ],
      },
    ],
  })
  assert.is(parseNotebook('[]'), null)
})

previews('does not edit text that is not UTF-8: saving would damage it', async () => {
  const { doc, disk, preview } = await opened()
  assert.ok(canEdit(doc()))
  disk.content = 'a\ufffdb'
  disk.version = 'v2'
  await preview.refresh()
  assert.not.ok(canEdit(doc()))
})

previews('saves with the version that was loaded', async () => {
  const { preview, doc, disk, service } = await opened()
  preview.setMode('edit')
  assert.not.ok(preview.dirty.value)
  preview.edit('three\n')
  assert.ok(preview.dirty.value)
  await preview.saver.save()
  assert.is(service.of('POST /api/file/save')[0]?.expected_version, 'v1')
  assert.equal([disk.content, preview.dirty.value, doc().version], ['three\n', false, 'v1+'])
})

previews('reports a conflict instead of overwriting the agent’s change', async () => {
  const { preview, doc, disk } = await opened()
  preview.setMode('edit')
  preview.edit('mine\n')
  Object.assign(disk, { content: 'theirs\n', version: 'v2' })
  await preview.saver.save()
  assert.equal([doc().conflict, doc().draft, disk.content], ['v2', 'mine\n', 'theirs\n'])
  await preview.saver.compare()
  assert.is(doc().theirs, 'theirs\n')
  // Changed once more: only what was seen may be overwritten.
  Object.assign(disk, { content: 'theirs again\n', version: 'v3' })
  await preview.saver.overwrite()
  assert.equal([doc().conflict, disk.content], ['v3', 'theirs again\n'])
  await preview.saver.overwrite()
  assert.equal([doc().conflict, disk.content, preview.dirty.value], [null, 'mine\n', false])
})

previews('loads the version on disk on request', async () => {
  const { preview, doc, disk } = await opened()
  preview.setMode('edit')
  preview.edit('mine\n')
  Object.assign(disk, { content: 'theirs\n', version: 'v2' })
  await preview.refresh()
  assert.equal([doc().conflict, doc().draft], ['v2', 'mine\n'])
  const { generation } = doc()
  await preview.saver.loadFromDisk()
  assert.equal([doc().draft, doc().conflict, preview.dirty.value], ['theirs\n', null, false])
  assert.ok(doc().generation > generation, 'the editor is made again')
})

previews('reloads an unedited file after a turn', async () => {
  const { preview, doc, disk } = await opened()
  await preview.refresh()
  assert.is(doc().generation, 0)
  Object.assign(disk, { content: 'new\n', version: 'v2' })
  await preview.refresh()
  assert.equal([doc().content, doc().version, doc().conflict], ['new\n', 'v2', null])
})

previews('asks before discarding edits', async () => {
  const { preview, asked, doc } = await opened()
  preview.setMode('edit')
  preview.edit('mine\n')
  preview.open({ path: 'b.ts', line: null })
  preview.close()
  preview.setMode('view')
  assert.equal([asked.length, doc().path, doc().draft], [3, 'a.ts', 'mine\n'])
  await asked[0]!.run()
  assert.equal([doc().path, doc().draft], ['b.ts', null])
})

previews('a save ends when the file is renamed meanwhile', async () => {
  const answer = Promise.withResolvers<void>()
  const { preview, doc } = await opened({
    'POST /api/file/save': async () => {
      await answer.promise
      return { ok: true, path: 'a.ts', size: 4, version: 'v2' }
    },
  })
  preview.setMode('edit')
  preview.edit('mine')
  const saved = preview.saver.save()
  preview.moved('a.ts', 'b.ts')
  answer.resolve()
  await saved
  assert.equal(
    [doc().path, doc().saving, doc().version, preview.dirty.value],
    ['b.ts', false, 'v2', false],
  )
})

previews('a file that is renamed while it is read is shown', async () => {
  const old = Promise.withResolvers<unknown>()
  const { preview, doc } = await opened({
    'GET /api/file': ({ path }) =>
      path === 'a.ts' ? old.promise : { path, lines: 1, size: 3, content: 'new', version: 'v' },
  })
  assert.is(doc().state, 'loading')
  preview.moved('a.ts', 'b.ts')
  await settle()
  assert.equal([doc().state, doc().content], ['ready', 'new'])
  old.reject(new ApiError(404, 'File not found'))
  await settle()
  assert.equal([doc().path, doc().state, doc().content], ['b.ts', 'ready', 'new'])
})

previews('what was read before a save does not replace what was saved', async () => {
  const { preview, doc, service, disk } = await opened()
  const old = Promise.withResolvers<unknown>()
  const answer = service.answers['GET /api/file']!
  service.answers['GET /api/file'] = () => old.promise
  preview.setMode('edit')
  const refreshed = preview.refresh()
  service.answers['GET /api/file'] = answer
  preview.edit('mine\n')
  await preview.saver.save()
  old.resolve({ content: 'between\n', version: 'v1b', size: 8, lines: 1 })
  await refreshed
  assert.equal([doc().content, doc().version, disk.content], ['mine\n', 'v1+', 'mine\n'])
})

previews('back in its workspace an edited file can be saved again', async () => {
  const { preview, doc, disk } = await opened()
  preview.setMode('edit')
  preview.edit('mine\n')
  preview.enter('/other')
  preview.enter('/w')
  assert.not.ok(doc().isMoved)
  await preview.saver.save()
  assert.is(disk.content, 'mine\n')
})

previews('shows the source of Markdown for a link to a line', async () => {
  const { preview, doc } = await opened()
  preview.open({ path: 'a.md', line: null })
  await settle()
  assert.is(doc().mode, 'view')
  preview.open({ path: 'a.md', line: 7 })
  assert.equal([doc().mode, doc().line], ['source', 7])
})

previews('frames a PDF by a typed blob URL and revokes it', async () => {
  const { preview, doc, urls } = await opened()
  preview.open({ path: 'a.pdf', line: null })
  await settle()
  assert.is(doc().blob, 'blob:application/pdf:1')
  preview.close()
  assert.is(urls.at(-1), 'gone blob:application/pdf:1')
})

previews('keeps a renamed file open; closes a deleted one unless it has edits', async () => {
  const { preview, doc } = await opened()
  preview.open({ path: 'src/a.ts', line: null })
  await settle()
  preview.moved('src', 'code')
  assert.is(doc().path, 'code/a.ts')
  preview.setMode('edit')
  preview.edit('mine')
  preview.moved('code', null)
  assert.is(doc().draft, 'mine')
  preview.edit('one\ntwo\n')
  preview.moved('code/a.ts', null)
  assert.is(preview.doc.value, null)
})

previews.run()

const git = suite('workspace: changes')
const changed = (path: string, index: string, worktree: string, more = {}) => ({
  path,
  index,
  worktree,
  status: 'modified' as const,
  ...more,
})

git('lists a file twice when it was changed again after staging', () => {
  const { staged, unstaged } = splitChanges([
    changed('a', 'M', 'M'),
    changed('b', '?', '?'),
    changed('c', 'R', ' ', { old_path: 'was' }),
    changed('d', 'U', 'U'),
    changed('e', ' ', 'D'),
  ] as never)
  assert.equal(
    staged.map(({ path, mark, from }) => [path, mark, from]),
    [
      ['a', 'modified', null],
      ['c', 'renamed', 'was'],
    ],
  )
  assert.equal(
    unstaged.map(({ path, mark }) => [path, mark]),
    [
      ['a', 'modified'],
      ['b', 'untracked'],
      ['d', 'conflict'],
      ['e', 'deleted'],
    ],
  )
})

git('loads a diff when expanded, and again when files change', async () => {
  const files = [changed('src/a', ' ', 'M')]
  const { platform, service } = fakePlatform({
    'GET /api/git/status': () => ({ branch: 'main', upstream: null, ahead: 0, behind: 0, files }),
    'GET /api/git/diff': ({ path }) => ({ path, diff: 'x', binary: false, truncated: false }),
  })
  const changes = new GitChanges(fakeShell(platform), 's')
  await changes.load()
  const [change] = changes.lines.value.unstaged
  assert.is(service.of('GET /api/git/diff').length, 0)
  changes.toggle(change!)
  await settle()
  assert.is(changes.diffs.value.get(change!.key)?.diff, 'x')
  await changes.load()
  assert.is(service.of('GET /api/git/diff').length, 2)
  assert.equal([...changes.touched.value], ['src'])
  files.length = 0
  await changes.load()
  assert.equal([changes.diffs.value.size, changes.openKeys.value.size], [0, 0])
})

git('shows why git failed', async () => {
  const { platform } = fakePlatform({
    'GET /api/git/status': () => {
      throw new ApiError(503, 'git is not installed')
    },
  })
  const changes = new GitChanges(fakeShell(platform), 's')
  await changes.load()
  assert.equal([changes.state.value, changes.error.value], ['failed', 'git is not installed'])
})

git.run()

const shapes = suite('workspace: CSV and MEDIA')

shapes('CSV: quotes, line breaks in quotes, separators', () => {
  assert.equal(parseCsv('a,b\r\n"x ""y"", z","1\n2"\n'), [
    ['a', 'b'],
    ['x "y", z', '1\n2'],
  ])
  assert.equal(parseCsv('\ufeffa;b\n1,5;2'), [
    ['a', 'b'],
    ['1,5', '2'],
  ])
  assert.equal(['a\tb\tc', '"a;b",c', 'a'].map(separatorOf), ['\t', ',', ','])
  assert.equal([parseCsv(''), parseCsv('a,\n')], [[], [['a', '']]])
})

const media = (text: string, open = false): string =>
  renderToString(h(Markdown, { text, open, id: 'm' }))

shapes('MEDIA: does not request a name that is still streaming', () => {
  assert.not.match(media('MEDIA:/tmp/pic.p', true), /<img/)
  assert.match(media('MEDIA:/tmp/pic.png\n\nmore', true), /<img/)
})

shapes('MEDIA: local files through the server, other hosts only on request', () => {
  assert.match(
    media('See MEDIA:/tmp/a b.png for more'),
    /src="api\/media\?path=%2Ftmp%2Fa%20b\.png"/,
  )
  assert.match(
    media('MEDIA:"/tmp/x y"'),
    /<a class="md-file" href="api\/media\?path=%2Ftmp%2Fx%20y"/,
  )
  assert.match(media('MEDIA:/tmp/a.mp3'), /<audio[^>]*src="api\/media/)
  assert.match(media('MEDIA:/tmp/a.mp4'), /<video[^>]*src="api\/media/)
  assert.match(
    media('MEDIA:http://localhost:8787/api/media?path=/tmp/a.png'),
    /src="api\/media\?path=\/tmp\/a\.png"/,
  )
  const far = media('MEDIA:https://far.example/a.png')
  assert.not.match(far, /<img/)
  assert.match(far, /far\.example/)
  const cancel = media('MEDIA:http://localhost:8787/api/chat/cancel?stream_id=1')
  assert.not.match(cancel, /src="api\/chat/)
})

shapes('MEDIA: only as a separate word, never in code', () => {
  const kinds = (text: string) =>
    lex(text)
      .flatMap(token => ('tokens' in token ? (token.tokens ?? []) : []))
      .map(one => one.type)
  assert.equal(kinds('`MEDIA:/a.png`'), ['codespan'])
  assert.equal(kinds('MEDIA: nothing here'), ['text'])
  assert.equal(kinds('MEDIA:/tmp/a.tar.gz.'), ['media', 'text'])
})

shapes.run()
