/** Proof: a disk that is full while an answer streams, while a backup is restored, and while a home moves; and what happens once there is space. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { noteFirstLocation, startMove } from '../../../lib/operations/moved-home.ts'
import { makeBackup } from '../../../lib/operations/backups/backup.ts'
import { restoreBackup } from '../../../lib/operations/backups/restore.ts'
import { readConfig } from '../../../lib/config.ts'
import { UserError } from '../../../lib/errors.ts'
import { createLog } from '../../../lib/operations/log.ts'
import { startApp } from '../../_app.ts'
import { createTestClock } from '../../_clock.ts'
import { createProvider } from '../../_provider.ts'
import { mountSmallDisk } from './_small-disk.ts'

const proof = suite('a full disk')

const WEEKS_MS = 21 * 86_400_000

const isFull = (error: unknown): boolean => error instanceof UserError && error.kind === 'full'

const createPlace = () => {
  const dir = mkdtempSync(join(tmpdir(), 'disk-'))
  const place = join(dir, 'disk')
  const disk = mountSmallDisk(place)
  const end = () => {
    disk?.unmount()
    rmSync(dir, { recursive: true })
  }
  return { dir, place, disk, end }
}

for (const isRestarted of [false, true])
  proof(
    `while an answer streams: it is said ${isRestarted ? 'after a restart' : 'when there is space'}, and weeks later nothing runs`,
    async () => {
      const { place, disk, end } = createPlace()
      if (!disk) return end()
      const provider = await createProvider()
      const clock = createTestClock(Date.now())
      const app = await startApp({
        clock,
        allowErrors: true,
        env: { AGENT_WEBUI_STATE_DIR: join(place, 'state') },
      })
      const config = `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: m\ncheckpoints:\n  enabled: false\n`
      writeFileSync(join(app.home, 'config.yaml'), config)
      const { session_id } = (await app.post('/api/session/new', {})).body.session
      const held = Promise.withResolvers<void>()
      provider.push({ text: ['precious ', 'words '.repeat(40_000)], middle: held.promise })
      provider.otherwise = () => ({ text: 'Never asked.' })
      const { body } = await app.post('/api/chat/start', { session_id, message: 'hello' })
      const types: string[] = []
      for await (const { event } of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
        if (event === 'token' && types.at(-1) !== 'token') {
          disk.fill()
          held.resolve()
        }
        types.push(event)
        if (event === 'stream_end') break
      }
      assert.ok(types.includes('apperror'), types.join(' '))
      assert.is((await app.post('/api/session/new', {})).status, 507)
      assert.is((await app.get('/ready')).status, 503)
      const asked = provider.requests.length
      disk.free()
      if (isRestarted) {
        clock.set(clock.now() + WEEKS_MS)
        await app.restart()
      } else await clock.advance(10_000)
      const { session } = (await app.get(`/api/session?session_id=${session_id}`)).body
      assert.is(session.active_stream_id, null)
      assert.is(session.messages[0].content, 'hello')
      assert.ok(session.messages.at(-1)._error, JSON.stringify(session.messages).slice(-300))
      assert.is.not(session.last_turn, null)
      clock.set(clock.now() + WEEKS_MS)
      await app.restart()
      await clock.advance(60_000)
      const again = (await app.get(`/api/session?session_id=${session_id}`)).body.session
      assert.equal(again.messages, session.messages)
      assert.is(provider.requests.length, asked)
      await app.close()
      await provider.close()
      end()
    },
  )

proof('while a backup is restored: a sentence, and nothing is left', async () => {
  const { dir, place, disk, end } = createPlace()
  if (!disk) return end()
  const home = join(dir, 'home')
  mkdirSync(join(home, 'webui', 'sessions'), { recursive: true })
  for (let n = 0; n < 9; n++)
    writeFileSync(join(home, `${n}.bin`), Buffer.alloc(5_000_000, `${n} noise`))
  const file = join(dir, 'b.tar.zst')
  await makeBackup({
    places: [
      { root: 'state', dir: join(home, 'webui'), kind: 'state' },
      { root: 'home', dir: home, kind: 'home' },
    ],
    ...{ excluded: [], target: file, passphrase: null, version: 'proof', now: Date.now() },
    withoutKeys: (_, text) => text,
  })
  for (const target of [join(place, 'restored'), place]) {
    const failed = await restoreBackup({
      file,
      home: target,
      state: join(target, 'webui'),
      passphrase: async () => null,
    }).catch((error: unknown) => error)
    assert.ok(isFull(failed), String(failed))
    assert.match(String(failed), /Nothing was restored/)
    assert.equal(readdirSync(place), [])
  }
  end()
})

proof('while a home moves: the start says so, and the next one does all of it', () => {
  const { dir, place, disk, end } = createPlace()
  if (!disk) return end()
  const places = (home: string) => ({
    ...readConfig({ HOME: dir, AGENT_HOME: home }, []),
    cluster: null,
  })
  const [former, now] = [join(dir, 'former'), join(place, 'now')]
  for (const name of ['webui', 'cron']) mkdirSync(join(former, name), { recursive: true })
  const workdirs = (home: string) => Array.from({ length: 500 }, (_, n) => join(home, `p${n}`))
  const texts = (home: string) => JSON.stringify({ jobs: workdirs(home) })
  writeFileSync(join(former, 'cron', 'jobs.json'), texts(former))
  noteFirstLocation(places(former))
  cpSync(former, now, { recursive: true })
  const log = createLog({ out: () => undefined, err: () => undefined })
  const jobs = () => readFileSync(join(now, 'cron', 'jobs.json'), 'utf8')
  disk.fill()
  assert.throws(() => startMove(places(now), log), isFull)
  assert.is(jobs(), texts(former))
  disk.free()
  startMove(places(now), log)
  assert.is(jobs(), texts(now))
  end()
})

proof.run()
