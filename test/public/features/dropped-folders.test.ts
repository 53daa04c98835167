/** Dropped folders: order, limits, target folders, resuming after a failure. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_FILES, readFolders } from '../../../public/features/workspace/dropped-folders.ts'
import { Attachments } from '../../../public/features/composer/attachments.ts'
import { Composer } from '../../../public/features/composer/composer.ts'
import { FileUploads } from '../../../public/features/panel/workspace-panel.ts'
import type { Upload } from '../../../public/upload.ts'
import { fakePlatform, fakeShell, settle } from '../_page.ts'

type Tree = { [name: string]: string | Tree }

/** As a browser offers them: in portions of two, in no order. */
const directory = (name: string, tree: Tree): FileSystemDirectoryEntry => {
  const entries = Object.entries(tree)
    .reverse()
    .map(([child, what]) =>
      typeof what === 'string'
        ? {
            isDirectory: false,
            name: child,
            file: (take: (file: File) => void) => take(new File([what], child)),
          }
        : directory(child, what),
    )
  const createReader = () => {
    let at = 0
    return {
      readEntries(take: (some: unknown[]) => void) {
        take(entries.slice(at, at + 2))
        at += 2
      },
    }
  }
  return { isDirectory: true, name, createReader } as unknown as FileSystemDirectoryEntry
}

const LARGE = 100

const uploading = (failsOnce = '') => {
  const sent: string[] = []
  let fails = failsOnce
  const upload: Upload = async ({ name, directory: into, file, onProgress }) => {
    if (name === fails) {
      fails = ''
      throw new Error('cut off')
    }
    onProgress?.(file.size)
    sent.push(`${into}/${name}`)
    return { filename: name, path: '', size: file.size }
  }
  return { sent, upload }
}

const test = suite('dropped folders')

test('skips files over the limit and files that are too large', async () => {
  const many = Object.fromEntries(
    Array.from({ length: MAX_FILES + 1 }, (_, at) => [`f${String(at).padStart(4, '0')}`, 'x']),
  )
  const { folders, messages: said } = await readFolders(
    [directory('big', { 'a.bin': 'y'.repeat(LARGE + 1), ...many }), directory('late', { z: 'z' })],
    LARGE,
  )
  assert.equal(
    folders.map(({ name, sizeBytes }) => [name, sizeBytes]),
    [['big', MAX_FILES]],
  )
  assert.is(said.length, 2)
  assert.match(said[0]!, /first 500 files/)
  assert.match(said[1]!, /^1 file larger than 100 bytes/)
})

test('reports an empty folder', async () => {
  const { folders, messages: said } = await readFolders([directory('none', { inner: {} })], LARGE)
  assert.equal(folders, [])
  assert.match(said[0]!, /“none” contains no files/)
})

test('is one attachment in the composer, and resumes after a failure', async () => {
  const fake = fakePlatform({ 'POST /api/session/draft': () => ({ ok: true }) })
  const composer = new Composer(fake.platform, { key: 's', sessionId: signal('s') })
  const { sent, upload } = uploading('c.txt')
  const attachments = new Attachments({
    platform: { ...fake.platform, upload },
    composer,
    ensureSession: async () => 's',
  })
  const tree = { 'b.txt': 'bb', sub: { 'c.txt': 'c', deep: { 'd.txt': 'ddd' } }, 'a.txt': 'a' }
  const { folders, messages: said } = await readFolders([directory('docs', tree)], LARGE)
  assert.equal(said, [])
  attachments.add(folders)
  assert.is(attachments.list.value.length, 1)
  assert.not.ok(await attachments.uploadsDone())
  assert.equal(sent, ['docs/a.txt', 'docs/b.txt'])
  const [chip] = attachments.list.value
  assert.equal([chip?.state, chip?.error], ['failed', 'cut off'])
  attachments.retry(chip!.id)
  assert.ok(await attachments.uploadsDone())
  assert.equal(sent.slice(2), ['docs/sub/c.txt', 'docs/sub/deep/d.txt'], 'nothing twice')
  assert.equal(composer.files.value, ['docs/'])
  assert.is(attachments.arrived.value.get('docs/')?.sizeBytes, 7)
})

test('uploads into the folder it was dropped on', async () => {
  const { platform } = fakePlatform({})
  const { sent, upload } = uploading()
  const arrived: string[] = []
  const shell = fakeShell({ ...platform, upload })
  const uploads = new FileUploads(shell, 's', at => arrived.push(at))
  const { folders } = await readFolders([directory('docs', { x: '1', y: { z: '2' } })], LARGE)
  const done = uploads.add([folders[0]!], 'here')
  assert.equal(
    uploads.list.value.map(({ name, sizeBytes }) => [name, sizeBytes]),
    [['docs/', 2]],
  )
  await done
  await settle()
  assert.equal(
    [sent, arrived, uploads.list.value],
    [['here/docs/x', 'here/docs/y/z'], ['here'], []],
  )
})

test.run()
