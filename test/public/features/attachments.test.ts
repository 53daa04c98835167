/** Attachments: upload progress, retry, removal, waiting; long pastes as files. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { Attachments } from '../../../public/features/composer/attachments.ts'
import { Composer } from '../../../public/features/composer/composer.ts'
import type { Upload, UploadOptions } from '../../../public/upload.ts'
import { fakePlatform, settle, unnamed } from '../_page.ts'

type Sending = UploadOptions & { arrive: (name: string) => void; fail: (error: Error) => void }

const page = () => {
  const fake = fakePlatform({
    'POST /api/session/draft': () => ({ ok: true }),
  })
  const sending: Sending[] = []
  const upload: Upload = options =>
    new Promise((resolve, reject) => {
      const arrive = (name: string) =>
        resolve({ filename: name, path: `/w/${name}`, size: options.file.size })
      sending.push({ ...options, arrive, fail: reject })
      options.signal?.addEventListener('abort', () => reject(new Error('aborted')))
    })
  const composer = new Composer(fake.platform, { key: 's', sessionId: signal('s') })
  const attachments = new Attachments({
    platform: { ...fake.platform, upload },
    composer,
    ensureSession: async () => 's',
    pictureOf: file => `blob:${file.name}`,
  })
  return { ...fake, attachments, composer, sending }
}

const file = (name: string, text = 'x', type = 'text/plain') => new File([text], name, { type })

const test = suite('attachments')

test('a file larger than a request may be is refused without being sent', async () => {
  const { attachments, sending } = page()
  const large = file('large')
  Object.defineProperty(large, 'size', { value: 21 * 1024 * 1024 })
  attachments.add([large])
  await settle()
  const [only] = attachments.list.value
  assert.equal([only?.state, only?.error, sending.length], ['failed', 'larger than 20 MB', 0])
  assert.not.ok(attachments.canRetry(only!))
  assert.not.ok(await attachments.uploadsDone())
})

test('a message takes twenty files; the next is refused before it is sent, until one is removed', async () => {
  const { attachments, composer, sending } = page()
  for (let at = 0; at < 18; at++) composer.addFile(`old${at}`)
  attachments.add(['a', 'b', 'c'].map(name => file(name)))
  attachments.add([{ name: 'd', sizeBytes: 1, send: () => Promise.reject(new Error('sent')) }])
  await settle()
  const states = () => attachments.list.value.map(({ state, error }) => [state, error])
  assert.equal(states(), [
    ['uploading', ''],
    ['uploading', ''],
    ['failed', 'more than 20 files'],
    ['failed', 'more than 20 files'],
  ])
  assert.is(sending.length, 1, 'one after the other')
  attachments.retry(attachments.list.value[2]!.id)
  assert.is(states()[2]?.[0], 'failed')
  composer.removeFile('old0')
  attachments.retry(attachments.list.value[2]!.id)
  assert.is(states()[2]?.[0], 'uploading')
})

test('a rejected file can be retried and removed', async () => {
  const { attachments, composer, sending } = page()
  attachments.add([file('a.txt')])
  await settle()
  sending[0]!.fail(new ApiError(400, 'Invalid filename'))
  await settle()
  assert.equal(
    [attachments.list.value[0]?.state, attachments.list.value[0]?.error],
    ['failed', 'Invalid filename'],
  )
  attachments.retry(attachments.list.value[0]!.id)
  await settle()
  sending[1]!.arrive('a.txt')
  await settle()
  assert.equal([composer.files.value, attachments.list.value], [['a.txt'], []])
})

test('attaches the file name assigned by the server', async () => {
  const { attachments, composer, sending } = page()
  attachments.add([file('pic.png', 'xyz', 'image/png')])
  await settle()
  sending[0]!.onProgress?.(2)
  assert.equal(
    [attachments.list.value[0]?.sentBytes, attachments.list.value[0]?.more.picture],
    [2, 'blob:pic.png'],
  )
  sending[0]!.arrive('pic (2).png')
  await settle()
  assert.equal(composer.files.value, ['pic (2).png'])
  assert.equal(attachments.arrived.value.get('pic (2).png'), {
    sizeBytes: 3,
    picture: 'blob:pic.png',
  })
})

test('does not attach a file removed during its upload', async () => {
  const { attachments, composer, sending } = page()
  attachments.add([file('a')])
  await settle()
  attachments.remove(attachments.list.value[0]!.id)
  await settle()
  assert.ok(sending[0]!.signal?.aborted)
  assert.equal([composer.files.value, attachments.list.value], [[], []])
})

test('sending waits for what is on its way', async () => {
  const { attachments, sending } = page()
  attachments.add([file('a'), file('b')])
  await settle()
  let sent: boolean | undefined
  void attachments.uploadsDone().then(all => {
    sent = all
  })
  sending[0]!.arrive('a')
  await settle()
  assert.is(sent, undefined)
  sending[1]!.arrive('b')
  await settle()
  assert.is(sent, true)
})

test('after a switch to another chat the files go into the draft of theirs, also those behind the first', async () => {
  const { attachments, composer, sending, service, clock, platform } = page()
  composer.applyServerDraft({ text: 'kept', files: ['old'] })
  attachments.add([file('a'), file('b')])
  await settle()
  await composer.leave()
  const other = new Composer(platform, { key: 'other', sessionId: signal('other') })
  sending[0]!.arrive('a')
  await settle()
  assert.is(sending[1]?.sessionId, 's')
  sending[1]!.arrive('b')
  await settle()
  await clock.advance(600)
  await settle()
  assert.equal(other.files.value, [])
  assert.equal(unnamed(service.of('POST /api/session/draft')), [
    { session_id: 's', text: 'kept', files: ['old', 'a', 'b'] },
  ])
})

test('a long paste is offered as a file, a short one is not', async () => {
  const { attachments, composer, sending } = page()
  const text = 'line\r\n'.repeat(1000)
  assert.not.ok(attachments.longTexts.onPaste('short'))
  composer.edit('short')
  assert.is(attachments.longTexts.longText.value, null)
  assert.not.ok(attachments.longTexts.onPaste(text))
  composer.edit(`before ${text.replaceAll('\r\n', '\n')}after`)
  assert.equal(attachments.longTexts.longText.value, { kind: 'pasted', chars: 5000 })
  attachments.longTexts.attachText()
  assert.is(composer.text.value, 'before after')
  await settle()
  assert.equal([sending[0]!.name, sending[0]!.file.size], ['pasted-text.txt', 5000])
  // Undone: the text is in the message again.
  assert.ok(attachments.longTexts.undoAttach())
  assert.is(composer.text.value.length, 5012)
  assert.equal(attachments.list.value, [])
})

test('hides the offer when the text is deleted', () => {
  const { attachments, composer } = page()
  const text = 'x'.repeat(5000)
  attachments.longTexts.onPaste(text)
  composer.edit(text)
  assert.ok(attachments.longTexts.longText.value)
  composer.edit('')
  assert.is(attachments.longTexts.longText.value, null)
})

const MILLIONS = 'word '.repeat(1_000_000)

test('five million pasted characters never enter the field: they are a file, which can be taken back', async () => {
  const { attachments, composer, sending, service } = page()
  composer.edit('read this')
  assert.ok(attachments.longTexts.onPaste(MILLIONS))
  assert.is(composer.text.value, 'read this')
  assert.equal(attachments.longTexts.longText.value, {
    kind: 'attached',
    chars: 5_000_000,
    canInsert: false,
  })
  await settle()
  sending[0]!.arrive('pasted-text.txt')
  await settle()
  assert.equal(composer.files.value, ['pasted-text.txt'])
  assert.is(attachments.longTexts.longText.value?.kind, 'attached')
  // What was typed since is undone first, by the browser.
  composer.edit('read this!')
  assert.not.ok(attachments.longTexts.undoAttach())
  composer.edit('read this')
  assert.ok(attachments.longTexts.undoAttach())
  assert.equal([composer.files.value, attachments.longTexts.longText.value], [[], null])
  const written = JSON.stringify(service.of('POST /api/session/draft'))
  assert.ok(written.length < 1_000, `${written.length} characters of drafts`)
})

test('an attached text is put into the message instead, also while it is uploaded', async () => {
  const { attachments, composer, sending } = page()
  const text = 'y'.repeat(30_000)
  assert.ok(attachments.longTexts.onPaste(text))
  await settle()
  assert.is(sending.length, 1)
  attachments.longTexts.insertText(given => composer.edit(given))
  assert.ok(sending[0]!.signal?.aborted)
  assert.equal([composer.text.value, attachments.list.value], [text, []])
  assert.equal(attachments.longTexts.longText.value, { kind: 'pasted', chars: 30_000 })
})

test('a message that is too long for a draft is attached as a whole', async () => {
  const { attachments, composer, sending } = page()
  composer.edit('z'.repeat(60_000))
  assert.equal(attachments.longTexts.longText.value, { kind: 'long', chars: 60_000 })
  attachments.longTexts.attachText()
  assert.is(composer.text.value, '')
  await settle()
  assert.is(sending[0]!.file.size, 60_000)
  assert.ok(attachments.longTexts.undoAttach())
  assert.is(composer.text.value.length, 60_000)
})

test('the line ends when its file is removed, and when the upload fails', async () => {
  const { attachments, sending } = page()
  attachments.longTexts.onPaste(MILLIONS)
  attachments.remove(attachments.list.value[0]!.id)
  assert.is(attachments.longTexts.longText.value, null)
  assert.not.ok(attachments.longTexts.undoAttach())
  attachments.longTexts.onPaste(MILLIONS)
  await settle()
  sending.at(-1)!.fail(new ApiError(0, 'offline'))
  await settle()
  assert.is(attachments.longTexts.longText.value, null)
  // The text is not lost: the file can be sent again.
  assert.ok(attachments.canRetry(attachments.list.value.at(-1)!))
})

test.run()
