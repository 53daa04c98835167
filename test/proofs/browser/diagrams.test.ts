/** Diagrams: every kind that mermaid has is drawn from the files of this build. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

/** One of each kind, with what makes it load a part of its own: a layout, formulas, icons. */
const SOURCES = [
  'flowchart LR\n  A[Begin] -->|yes| B{End}',
  'flowchart LR\n  A["$$x^2$$"] --> B',
  'sequenceDiagram\n  Ann->>Bo: Hello\n  Bo-->>Ann: Hi',
  'classDiagram\n  Animal <|-- Duck\n  class Duck { +swim() }',
  'stateDiagram-v2\n  [*] --> Still\n  Still --> [*]',
  'erDiagram\n  USER ||--o{ ORDER : places',
  'gantt\n  dateFormat YYYY-MM-DD\n  section A\n  Task :a1, 2026-01-01, 30d',
  'pie title Pets\n  "Dogs" : 3\n  "Cats" : 2',
  'journey\n  title Day\n  section Work\n    Tea: 5: Me',
  'gitGraph\n  commit\n  branch develop\n  commit',
  'mindmap\n  root((Root))\n    One\n    Two',
  'timeline\n  title History\n  2025 : One\n  2026 : Two',
  'quadrantChart\n  x-axis Low --> High\n  y-axis Low --> High\n  A: [0.3, 0.6]',
  'xychart-beta\n  x-axis [a, b]\n  y-axis "n" 0 --> 9\n  bar [3, 5]',
  'sankey-beta\n\na,b,10\na,c,5',
  'block-beta\n  columns 2\n  a b',
  'requirementDiagram\n  requirement r {\n    id: 1\n    text: t\n    risk: high\n    verifymethod: test\n  }',
  'C4Context\n  Person(a, "A")\n  System(b, "B")\n  Rel(a, b, "Uses")',
  'kanban\n  todo[Todo]\n    one[One]',
  'architecture-beta\n  group api(cloud)[API]\n  service db(database)[Database] in api\n  service server(server)[Server] in api\n  db:L -- R:server',
  'packet-beta\n  0-15: "Source"\n  16-31: "Target"',
  'radar-beta\n  axis a["A"], b["B"], c["C"]\n  curve one{1, 2, 3}',
  'treemap-beta\n"A"\n  "B": 10\n  "C": 20',
]

/** Invalid, and with the layout that build/browser.mjs leaves out: the source is shown. */
const REFUSED = ['flowchart LR\n  A[', '---\nconfig:\n  layout: elk\n---\nflowchart LR\n  A --> B']

const diagrams = suite('page: diagrams')

diagrams('every kind of diagram is drawn, and what cannot be is shown as source', async () => {
  const app = await startApp()
  try {
    const all = [...REFUSED, ...SOURCES]
    const content = all.map(source => `\`\`\`mermaid\n${source}\n\`\`\``).join('\n\n')
    const imported = await app.post('/api/session/import', {
      title: 'Drawn',
      messages: [
        { role: 'user', content: 'draw' },
        { role: 'assistant', content },
      ],
    })
    const { page, problems, close } = await openPage(
      `${app.url}/session/${imported.body.session.session_id}`,
    )
    const places = page.locator('.md-diagram')
    await places.first().waitFor()
    for (const [at, source] of all.entries()) {
      const place = page.locator('.md-diagram, pre:has(code)').nth(at)
      await page.waitForFunction(index => {
        const element = document.querySelectorAll('.md-diagram, pre:has(code)')[index]
        // Drawn when it is near the visible part; an element that is replaced is scrolled to again.
        element?.scrollIntoView({ block: 'center' })
        return (
          element?.matches('pre') ||
          element?.querySelector('.md-diagram-drawn')?.shadowRoot?.querySelector('svg')
        )
      }, at)
      const isDrawn = await place.evaluate(element => element.matches('.md-diagram'))
      assert.is(isDrawn, !REFUSED.includes(source), source)
    }
    assert.equal(problems, [])
    await close()
  } finally {
    await app.close()
  }
})

diagrams.run()
