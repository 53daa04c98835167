/** The text editor: CodeMirror with the page's colors and the language of the file name. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  type LanguageSupport,
  syntaxHighlighting,
} from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'preact/hooks'
import { extensionOf } from '../../parts/file-kind.ts'
import { pageNonce } from '../workspace/nonce.ts'

export type EditorProps = {
  path: string
  /** The initial text; the editor owns it afterwards. */
  text: string
  line: number | null
  label: string
  onEdit: (text: string) => void
  onSave: () => void
}

const script = (jsx: boolean, typescript: boolean) => async (): Promise<LanguageSupport> =>
  (await import('@codemirror/lang-javascript')).javascript({ jsx, typescript })
const json = async () => (await import('@codemirror/lang-json')).json()
const css = async () => (await import('@codemirror/lang-css')).css()
const html = async () => (await import('@codemirror/lang-html')).html()
const markdown = async () => (await import('@codemirror/lang-markdown')).markdown()
const python = async () => (await import('@codemirror/lang-python')).python()
const yaml = async () => (await import('@codemirror/lang-yaml')).yaml()

const languages: Readonly<Record<string, () => Promise<LanguageSupport>>> = {
  ...{ js: script(true, false), jsx: script(true, false), mjs: script(true, false) },
  ...{ cjs: script(true, false), ts: script(false, true), mts: script(false, true) },
  ...{ cts: script(false, true), tsx: script(true, true) },
  ...{ json, jsonc: json, css, scss: css, html, htm: html, vue: html, svg: html, xml: html },
  ...{ md: markdown, markdown, py: python, pyi: python, yml: yaml, yaml },
}

/** Role tokens only, so that it follows every theme. */
const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--warn)' },
  { tag: [tags.typeName, tags.className, tags.namespace], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.attributeName, tags.tagName], color: 'var(--accent)' },
  { tag: [tags.comment, tags.meta], color: 'var(--text-dim)' },
  { tag: tags.heading, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: [tags.link, tags.url], color: 'var(--accent)', textDecoration: 'underline' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

const look = EditorView.theme({
  '&': {
    height: '100%',
    fontSize: 'var(--size-small)',
    backgroundColor: 'var(--bg)',
    color: 'var(--text)',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-gutters': {
    backgroundColor: 'var(--bg)',
    border: '0',
    color: 'var(--text-faint)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-activeLineGutter': { color: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 34%, transparent)',
  },
  '.cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 22%, transparent)',
  },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'var(--sel)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--focus)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--press)' },
  '.cm-panels': { backgroundColor: 'var(--bg-raised)', color: 'var(--text)' },
  '.cm-panels-bottom': { borderBlockStart: '1px solid var(--hair)' },
  '.cm-textfield, .cm-button': {
    backgroundColor: 'var(--bg)',
    backgroundImage: 'none',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    color: 'var(--text)',
  },
})

/** Saving keeps the file's line endings. */
const separatorOf = (text: string): string =>
  text.includes('\r\n') && !/(^|[^\r])\n/.test(text) ? '\r\n' : '\n'

const hasTabs = (text: string): boolean => /^\t/m.test(text)

export const Editor = ({ path, text, line, label, onEdit, onSave }: EditorProps) => {
  const place = useRef<HTMLDivElement>(null)
  const calls = useRef({ onEdit, onSave })
  calls.current = { onEdit, onSave }

  useEffect(() => {
    const parent = place.current
    if (!parent) return
    const language = new Compartment()
    const view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(pageNonce()),
          EditorState.lineSeparator.of(separatorOf(text)),
          EditorState.tabSize.of(4),
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          search(),
          syntaxHighlighting(colors),
          look,
          language.of([]),
          indentUnit.of(hasTabs(text) ? '\t' : '  '),
          EditorView.contentAttributes.of({
            'aria-label': label,
            spellcheck: 'false',
            tabindex: '0',
          }),
          keymap.of([
            {
              key: 'Mod-s',
              preventDefault: true,
              run() {
                calls.current.onSave()
                return true
              },
            },
            ...searchKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            // Escape, then Tab, leaves the editor: no keyboard trap (WCAG 2.1.2).
            indentWithTab,
          ]),
          EditorView.updateListener.of(update => {
            if (update.docChanged) calls.current.onEdit(update.state.sliceDoc())
          }),
        ],
      }),
    })
    let current = true
    languages[extensionOf(path)]?.().then(
      support => current && view.dispatch({ effects: language.reconfigure(support) }),
      // Offline; editing works without highlighting.
      () => undefined,
    )
    if (line !== null && line <= view.state.doc.lines) {
      const { from } = view.state.doc.line(line)
      view.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      })
    }
    view.focus()
    return () => {
      current = false
      view.destroy()
    }
  }, [])

  return <div ref={place} class="editor" />
}
