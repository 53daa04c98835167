/** The texts of a language: those of a script are there when it is, and what could not be loaded is requested again. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { loadLanguage } from '../../public/strings/load-texts.ts'
import { setLanguage, translator } from '../../public/strings/t.ts'

const test = suite('texts of a language')

const t = translator('test', { 'test.open': 'Open' })
const first = { page: { 'app.close': 'Schließen' }, needs: { view: 'view shared' } }
const FILES: Record<string, unknown> = {
  'de.main-V.json': first,
  'de.view-V.json': { test: { 'test.open': 'Öffnen' } },
  'de.shared-V.json': {},
}

const before = globalThis.fetch
const requested: string[] = []
let isOffline = false
Object.assign(globalThis, { window: globalThis })
test.before.each(() => {
  requested.length = 0
  isOffline = false
  globalThis.fetch = async url => {
    const name = String(url).split('/').at(-1)!
    requested.push(name)
    if (isOffline) throw new TypeError('Failed to fetch')
    return Response.json(FILES[name])
  }
})
test.after.each(() => setLanguage('en', {}))
test.after(() => {
  globalThis.fetch = before
})

const load = (language: string) =>
  loadLanguage(language, 'http://localhost/', 'V main', async script => `module ${script}`)

test('a lazy import waits for the texts of its script and of what that imports, each requested once', async () => {
  await load('de')
  assert.equal(requested, ['de.main-V.json'])
  assert.is(t('app.close'), 'Schließen')
  assert.is(await importWithTexts('view'), 'module view')
  assert.is(t('test.open'), 'Öffnen')
  await importWithTexts('view')
  assert.is(await importWithTexts('none'), 'module none')
  assert.equal(requested, ['de.main-V.json', 'de.view-V.json', 'de.shared-V.json'])
})

test('texts that could not be loaded are in English, and are requested again', async () => {
  const retry = await load('de')
  isOffline = true
  assert.is(await importWithTexts('view'), 'module view')
  assert.is(t('test.open'), 'Open')
  isOffline = false
  retry()
  await importWithTexts('view')
  assert.is(t('test.open'), 'Öffnen')
})

test('when the texts of the page could not be loaded, a view that is opened next requests them again with its own', async () => {
  isOffline = true
  const retry = await load('de')
  assert.is(await importWithTexts('view'), 'module view')
  assert.is(t('test.open'), 'Open')
  isOffline = false
  retry()
  assert.is(await importWithTexts('view'), 'module view')
  assert.is(t('app.close'), 'Schließen')
  assert.is(t('test.open'), 'Öffnen')
})

test('English requests nothing', async () => {
  const retry = await load('en')
  assert.is(await importWithTexts('view'), 'module view')
  retry()
  assert.equal(requested, [])
})

test.run()
