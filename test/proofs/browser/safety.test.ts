/** Security and accessibility in a real browser: an XSS corpus, and axe over views, themes and widths. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const safety = suite('page: safety')

const RUN = 'window.__ran=1'
const FAR = 'https://evil.example/x'
const CORPUS = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload="${RUN}"><animate onbegin="${RUN}" attributeName=x dur=1s></svg>`,
  `<iframe srcdoc="<script>parent.__ran=1</script>"></iframe>`,
  `<a href="javascript:${RUN}">click</a>`,
  `[click](javascript:${RUN})`,
  `[click](JaVaScRiPt:${RUN})`,
  `[click](&#106;avascript:${RUN})`,
  `[click](java\tscript:${RUN})`,
  `[click](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX19yYW49MTwvc2NyaXB0Pg==)`,
  `[click](vbscript:msgbox(1))`,
  `![x](${FAR}.png)`,
  `![x](javascript:${RUN})`,
  `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)`,
  `<style>@import "${FAR}.css"</style>`,
  `<link rel=stylesheet href="${FAR}.css">`,
  `<base href="https://evil.example/">`,
  `<form action="${FAR}"><button>go</button></form>`,
  `<object data="${FAR}"></object><embed src="${FAR}">`,
  `<details open ontoggle="${RUN}">x</details>`,
  `<math><mtext><img src=x onerror="${RUN}"></mtext></math>`,
  `$\\href{javascript:${RUN}}{x}$`,
  `$\\includegraphics{${FAR}.png}$`,
  '```html\n<script>window.__ran=1</script>\n```',
  '```mermaid\nflowchart LR\n  A["<img src=x onerror=window.__ran=1>"] --> B\n  click A "javascript:window.__ran=1"\n```',
  `[ref]: javascript:${RUN}\n[ref]`,
  `<${'a'.repeat(2_000)} onclick=${RUN}>`,
  `[^1]\n\n[^1]: <img src=x onerror="${RUN}">`,
  `| <img src=x onerror="${RUN}"> | [x](javascript:${RUN}) |\n|-|-|\n| a | b |`,
  `\u202e<script>${RUN}</script>`,
]

safety('an XSS corpus runs no script and makes no request', async () => {
  const app = await startApp()
  try {
    const messages = CORPUS.flatMap((content, i) => [
      { role: 'user', content: `sample ${i} ${content}` },
      { role: 'assistant', content, reasoning: content },
    ])
    const tool = [
      { role: 'user', content: 'tools' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          {
            id: 'c',
            type: 'function',
            function: { name: CORPUS[1], arguments: JSON.stringify({ command: CORPUS[0] }) },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: JSON.stringify({ output: CORPUS.join('\n') }) },
    ]
    const title = `<img src=x onerror="${RUN}">`
    const { body } = await app.post('/api/session/import', {
      title,
      messages: [...messages, ...tool],
    })
    const at = await openPage(`${app.url}/session/${body.session.session_id}`)
    await at.page.getByText('tools').first().waitFor()
    const seen = new Set<string>()
    // Up to the beginning, so that every message is drawn once.
    await at.page.mouse.move(700, 400)
    for (let step = 0; step < 300 && !seen.has('0'); step++) {
      for (const text of await at.page.getByText(/^sample \d+/).allTextContents())
        seen.add(/\d+/.exec(text)![0])
      await at.page.mouse.wheel(0, -300)
      await at.page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
    }
    assert.is(seen.size, CORPUS.length)
    for (const button of await at.page.getByRole('button', { name: /diagram/i }).all()) {
      await button.click()
    }
    const ran = await at.page.evaluate(() => '__ran' in window)
    assert.not.ok(ran)
    const scheme = await at.page
      .locator('a')
      .evaluateAll(links =>
        links
          .map(link => (link as HTMLAnchorElement).protocol)
          .filter(p => !/^(https?|mailto):$/.test(p)),
      )
    assert.equal(scheme, [])
    assert.equal(
      at.problems.filter(problem => /request to|Refused|script/i.test(problem)),
      [],
    )
    await at.close()
  } finally {
    await app.close()
  }
})

const THEMES = ['dark', 'light', 'mist', 'solarized', 'monokai', 'nord', 'contrast']
const SECTIONS = 'general models tools permissions access notifications system'.split(' ')
const isFull = process.env.PROOF === 'full'

/** Views with the text that says they are drawn. At full size every view. */
const viewsOf = (session: string): [path: string, shown: string][] => [
  [`/session/${session}`, 'Approval needed'],
  ['/settings/general', 'Text size'],
  ...(isFull
    ? ([
        ['/', 'What should we work on?'],
        ...['inbox', 'tasks', 'skills', 'memory', 'profiles', 'usage'].map(name => [
          `/${name}`,
          name,
        ]),
        ...SECTIONS.filter(name => name !== 'general').map(name => [
          `/settings/${name}`,
          'Settings',
        ]),
      ] as [string, string][])
    : []),
  // Last: it is shown only where a password is set, and then nothing else is.
  ['/login', 'Password'],
]

safety(
  'axe finds nothing: views in every theme, at 1440, 390 and 320, and with forced colors (all of it with PROOF=full)',
  async () => {
    const app = await startApp()
    try {
      const { body } = await app.post('/api/session/import', {
        title: 'Looked at',
        messages: [
          { role: 'user', content: 'show me' },
          {
            role: 'assistant',
            content:
              '# Title\n\n- [x] done\n- [ ] open\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n```ts\nconst a = 1\n```\n\n> quote\n\n[link](https://example.com) and `code`.',
            reasoning: 'thinking about it',
          },
          { role: 'assistant', content: '**Rate limit reached:** slow down', _error: true },
        ],
      })
      const session_id = body.session.session_id
      await app.post('/api/approval/inject_test', { session_id })
      const found: string[] = []
      const at = await openPage(app.url)
      const { page } = at
      const look = async (where: string, width: number) => {
        await page.setViewportSize({ width, height: 800 })
        await page.evaluate(
          () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))),
        )
        const path = new URL(page.url()).pathname
        // With forced colors the system chooses them; axe reads those of the style sheet.
        const rules = where === 'forced' ? ['color-contrast'] : []
        for (const violation of await at.axe(...rules))
          found.push(`${where} ${width} ${path} ${violation}`)
        const sideways = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        if (sideways > 0) found.push(`${where} ${width} ${path} scrolls sideways by ${sideways}`)
      }
      for (const [index, [path, shown]] of viewsOf(session_id).entries()) {
        if (path === '/login') {
          // A page that is open would be refused what it asks for.
          await page.goto('about:blank')
          await app.post('/api/settings', { _set_password: 'correct horse' })
        }
        await page.setViewportSize({ width: 1_440, height: 800 })
        await page.goto(`${app.url}${path}`)
        await page.locator('#page, main').getByText(new RegExp(shown, 'i')).first().waitFor()
        for (const theme of index === 0 || isFull ? THEMES : THEMES.slice(0, 2)) {
          // A theme is this attribute and nothing else.
          await page.evaluate(name => {
            document.documentElement.dataset.theme = name
          }, theme)
          // Widths change the layout, themes the colors: at full size each width in both of the usual themes.
          const isWhole = theme === 'dark' || (theme === 'light' && isFull)
          for (const width of isWhole ? [1_440, 390, 320] : [1_440]) await look(theme, width)
        }
        if (index > 0 && !isFull) continue
        await page.emulateMedia({ forcedColors: 'active' })
        await look('forced', 1_440)
        await page.emulateMedia({ forcedColors: 'none' })
      }
      found.push(...at.problems)
      await at.close()
      assert.equal(found, [])
    } finally {
      await app.close()
    }
  },
)

safety.run()
