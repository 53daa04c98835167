/** Lazily loaded views: one that was loaded between the first rendering of an instance and its effect. */
import { setImmediate } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { type ComponentType, h, options, render } from 'preact'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { loadLazyCss } from '../../public/parts/lazy-css.ts'
import { lazy, retryFailedViews } from '../../public/parts/lazy.tsx'

const test = suite('lazy')

/** A document for two views, and the effects of what is rendered. */
const setUp = (head = '') => {
  const page = globalThis as { document?: unknown }
  const before = { document: page.document, frame: options.requestAnimationFrame }
  const { document } = parseHTML(`<html><head>${head}</head><body><p></p><p></p></body></html>`)
  const effects: (() => void)[] = []
  page.document = document
  options.requestAnimationFrame = run => void effects.push(run)
  const [first, second] = document.querySelectorAll('p')
  assert.ok(first && second)
  return {
    ...{ document, first, second },
    runEffects() {
      for (const run of effects.splice(0)) run()
    },
    restore() {
      page.document = before.document
      options.requestAnimationFrame = before.frame as typeof options.requestAnimationFrame
    },
  }
}

test('a view that could not be loaded has a stand-in, and is loaded again when the server is reached', async () => {
  const { first, second, runEffects, restore } = setUp()
  const settled = async () => {
    for (let n = 0; n < 3; n += 1) {
      runEffects()
      await setImmediate()
    }
  }
  let isOnline = false
  let count = 0
  const load = async () => {
    count += 1
    if (!isOnline) throw new Error('offline')
    return () => h('b', {}, 'shown')
  }
  try {
    const Plain = lazy(load, true, false)
    const Other = lazy(load, true, false, () => h('i', {}, 'waits'))
    render(h(Plain, {}), first)
    render(h(Other, {}), second)
    await settled()
    assert.match(first.textContent, 'Couldn’t load this page')
    assert.is(second.textContent, 'waits')
    retryFailedViews()
    await settled()
    assert.equal([second.textContent, count], ['waits', 4])
    isOnline = true
    retryFailedViews()
    await settled()
    assert.equal([first.textContent, second.textContent], ['shown', 'shown'])
    retryFailedViews()
    await settled()
    assert.is(count, 6)
  } finally {
    restore()
  }
})

test('a style sheet that could not be loaded holds up no view, and is requested again with the next one', async () => {
  const { document, restore } = setUp('<meta name="lazy-style" content="lazy.css">')
  try {
    const asked = new Set<unknown>()
    for (let n = 0; n < 2; n += 1) {
      const loading = loadLazyCss()
      const link = document.querySelector('link[data-lazy]')
      asked.add(link)
      const failed = document.createEvent('Event')
      failed.initEvent('error')
      link?.dispatchEvent(failed)
      await loading
    }
    assert.is(asked.size, 2)
  } finally {
    restore()
  }
})

test('an instance whose effect runs after another one has loaded the view shows it', async () => {
  const { first, second, runEffects, restore } = setUp()
  try {
    const loading = Promise.withResolvers<ComponentType<object>>()
    const View = lazy(() => loading.promise, true, false)
    render(h(View, {}), first)
    runEffects()
    render(h(View, {}), second)
    loading.resolve(() => h('b', {}, 'shown'))
    await setImmediate()
    runEffects()
    await setImmediate()
    assert.equal([first.textContent, second.textContent], ['shown', 'shown'])
  } finally {
    restore()
  }
})

test.run()
