/** Reading aloud and hands-free mode in a real browser, with audio of a real service and a scripted microphone. */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('speech in the page')

/** Silence of this length as a WAV file: 8 kHz, 8 bits, mono. */
const silence = (ms: number): Buffer => {
  const size = ms * 8
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + size, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(size, 40)
  return Buffer.concat([head, Buffer.alloc(size, 128)])
}

/** `long` parts last until they are stopped; the short ones are sent after `send`. */
const speechService = async () => {
  const spoken: string[] = []
  const wanted = Promise.withResolvers<void>()
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', async () => {
      const { input } = JSON.parse(`${Buffer.concat(chunks)}`)
      const isLong = /long/.test(input)
      spoken.push(input)
      if (!isLong) await wanted.promise
      res.writeHead(200, { 'content-type': 'audio/wav' })
      res.end(silence(isLong ? 600_000 : 100))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    spoken,
    send: wanted.resolve,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => server.close(),
  }
}

test('answers are read when the device is set to; hands-free listens, sends, reads, and ends with Escape', async () => {
  const [chat, service] = await Promise.all([startChat(), speechService()])
  try {
    const { app, provider } = chat
    appendFileSync(join(app.home, 'config.yaml'), `\ntts:\n  base_url: ${service.url}\n`)
    const session_id = await chat.newSession()
    await app.post('/api/session/rename', { session_id, title: 'Named' })
    const at = await openPage('about:blank', { viewport: { width: 390, height: 844 } })
    const { page, problems } = at
    // The test browser has no microphone: `say` speaks to the last one that was opened.
    await page.addInitScript(() => {
      class Recognition {
        onresult: ((event: object) => void) | null = null
        onend: (() => void) | null = null
        start(): void {
          Object.assign(window, { say: this.hear.bind(this) })
        }
        stop(): void {
          this.onend?.()
        }
        hear(transcript: string): void {
          this.onresult?.({ resultIndex: 0, results: [{ isFinal: true, 0: { transcript } }] })
          this.onend?.()
        }
      }
      Object.assign(window, { SpeechRecognition: Recognition })
    })
    const say = (text: string) =>
      page.evaluate(
        words => (window as unknown as { say: (words: string) => void }).say(words),
        text,
      )
    await page.goto(`${app.url}/settings`)
    await page.getByLabel('Read answers aloud').click()
    await page.goto(`${app.url}/session/${session_id}`)

    provider.push({ text: 'A short answer.' })
    const box = page.getByRole('textbox', { name: 'Message' })
    await box.fill('Say something')
    await page.getByRole('button', { name: /^Send/ }).click()
    await page.getByRole('button', { name: 'Stop reading' }).waitFor()
    service.send()
    await page.getByRole('button', { name: 'Read aloud' }).waitFor()
    assert.equal(service.spoken, ['A short answer.'])

    provider.push({ text: 'A long answer.' })
    // On a phone the bar is too narrow for both buttons: dictation offers it.
    assert.is(await page.getByRole('button', { name: 'Start hands-free mode' }).count(), 0)
    await page.getByRole('button', { name: 'Dictate' }).click()
    await page.getByRole('button', { name: 'Start hands-free mode' }).click()
    await page.getByText('Listening…').waitFor()
    await say('Hello there')
    await page.getByText('Reading the answer…').waitFor()
    await page.getByText('Hello there').waitFor()
    assert.equal(service.spoken.slice(1), ['A long answer.'])
    if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT })
    assert.equal(await at.axe(), [])
    await page.keyboard.press('Escape')
    await page.getByText('Reading the answer…').waitFor({ state: 'detached' })
    assert.is(await page.getByRole('button', { name: 'Stop reading' }).count(), 0)

    await page.getByRole('button', { name: 'Read aloud' }).last().click()
    await page.getByRole('button', { name: 'Stop reading' }).waitFor()
    await page.evaluate(() => history.back())
    await page.getByLabel('Read answers aloud').waitFor()
    await page.evaluate(() => history.forward())
    await page.getByText('A long answer.').waitFor()
    assert.is(await page.getByRole('button', { name: 'Stop reading' }).count(), 0)
    // A page that was opened empty counts its own server as another one.
    assert.equal(
      problems.filter(each => !each.startsWith(`request to ${app.url}`)),
      [],
    )
    await at.close()
  } finally {
    service.close()
    await chat.close()
  }
})

test.run()
