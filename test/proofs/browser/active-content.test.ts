/** Active content: diagrams and HTML previews render under the page's CSP and make no requests. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const active = suite('page: active content')

const FAR = 'https://far.example'

/** Each tries to load something, or to be slow. */
const DOCUMENTS: Record<string, string> = {
  'late.html': `<img src=${FAR}/1><link rel=stylesheet href=${FAR}/2><!doctype html><p id=end>shown</p>`,
  'comment.html': `<!--><img src=${FAR}/3><!doctype html>--><p id=end>shown</p>`,
  'styles.html': `<style>p{background:url(${FAR}/4);color:rgb(1,2,3)}</style><p style="background:url(${FAR}/5);font-size:31px" id=end>shown</p>`,
  'frames.html': `<iframe src=${FAR}/6></iframe><object data=${FAR}/7></object><meta http-equiv=refresh content="0;url=${FAR}/8"><p id=end>shown</p>`,
  'slow.html': `<a ${`x="" '`.repeat(400)}><p id=end>shown</p>`,
  'script.html': `<script>document.write('<img src=${FAR}/9>')</script><p id=end onclick=1>shown</p>`,
}

active('renders a diagram and HTML files without requests to other hosts', async () => {
  const app = await startApp()
  try {
    const workspace = join(app.userHome, 'project')
    mkdirSync(workspace)
    for (const [name, text] of Object.entries(DOCUMENTS)) writeFileSync(join(workspace, name), text)
    const { body } = await app.post('/api/session/new', { workspace })
    const { session_id } = body.session
    const imported = await app.post('/api/session/import', {
      title: 'Drawn',
      messages: [
        { role: 'user', content: 'draw' },
        { role: 'assistant', content: '```mermaid\nflowchart LR\n  A[Begin] --> B[End]\n```' },
      ],
    })
    const drawn = await openPage(`${app.url}/session/${imported.body.session.session_id}`)
    const diagram = drawn.page.getByRole('img', { name: 'Diagram' })
    await drawn.page.waitForFunction(
      () => document.querySelector('.md-diagram > div')?.shadowRoot?.querySelector('svg') != null,
    )
    assert.match(await diagram.evaluate(element => element.shadowRoot?.textContent ?? ''), 'Begin')
    assert.equal(drawn.problems, [])
    // Nothing else turns text into markup.
    const refused = await drawn.page.evaluate(() => {
      try {
        document.createElement('div').innerHTML = '<b>x</b>'
        return false
      } catch {
        return true
      }
    })
    assert.ok(refused)
    await drawn.close()

    const at = await openPage(`${app.url}/session/${session_id}`)
    // The browser reports a request before its policy blocks it; what is routed has left.
    const left: string[] = []
    await at.page.route(`${FAR}/**`, route => {
      left.push(route.request().url())
      return route.abort()
    })
    await at.page.keyboard.press('Control+Shift+E')
    for (const name of Object.keys(DOCUMENTS)) {
      await at.page.getByRole('treeitem', { name }).first().click()
      await at.page.locator('.preview-base', { hasText: name }).waitFor()
      const frame = at.page.frameLocator('iframe.frame-view')
      await frame.locator('#end').waitFor()
      assert.is(await frame.locator('#end').textContent(), 'shown', name)
      if (name === 'styles.html') {
        const style = await frame.locator('#end').evaluate(element => {
          const { color, fontSize } = getComputedStyle(element)
          return [color, fontSize]
        })
        assert.equal(style, ['rgb(1, 2, 3)', '31px'])
      }
      // The file fills the sheet.
      await at.page
        .locator('.preview')
        .getByRole('button', { name: 'Show all files' })
        .first()
        .click()
    }
    assert.equal(left, [])
    await at.close()
  } finally {
    await app.close()
  }
})

active.run()
