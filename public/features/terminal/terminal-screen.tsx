/** The screen of one terminal: xterm.js, connected to the server. */
import { useSignal } from '@preact/signals'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Screen, type ITheme } from '@xterm/xterm'
import { useEffect, useRef } from 'preact/hooks'
import { codeBlock } from '../../../lib/base/code-block.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import { Button } from '../../parts/button.tsx'
import { randomId } from '../../parts/random-id.ts'
import { useComposer, useShell } from '../../contexts.ts'
import { type Arrow, arrowKey, isCopy, isForPage, withCtrl } from './keys.ts'
import { addLinks } from './links.ts'
import { t } from './strings.ts'
import { TerminalClient, type TerminalLink, type TerminalClientOptions } from './terminal-client.ts'
import type { Terminal, Terminals } from './terminals.ts'

/**
 * Blue, magenta and cyan have no token: xterm.js has its own, and keeps them readable on the theme's background
 * (`minimumContrastRatio`).
 */
const themeOf = (styles: CSSStyleDeclaration): ITheme => {
  const token = (name: string) => styles.getPropertyValue(`--${name}`).trim()
  return {
    background: token('bg-sunken'),
    foreground: token('text'),
    cursor: token('accent'),
    cursorAccent: token('bg-sunken'),
    selectionBackground: token('sel'),
    red: token('bad'),
    brightRed: token('bad'),
    green: token('ok'),
    brightGreen: token('ok'),
    yellow: token('warn'),
    brightYellow: token('warn'),
    white: token('text-dim'),
    brightWhite: token('text'),
    black: token('bg-raised'),
    brightBlack: token('text-faint'),
  }
}

const fontOf = (styles: CSSStyleDeclaration): string =>
  styles.getPropertyValue('--mono').trim() || 'monospace'

/** Calls back when the theme of the page changes. Returns a function that ends it. */
const onThemeChange = (changed: () => void): (() => void) => {
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributes: true })
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', changed)
  return () => {
    observer.disconnect()
    scheme.removeEventListener('change', changed)
  }
}

const SCROLLBACK_LINES = 10_000
const RESIZE_MS = 80

const copy = (text: string): void => {
  // Blocked or missing without TLS: the browser's own Copy still works.
  void navigator.clipboard?.writeText(text).catch(() => undefined)
}

/** As a block of code, fenced with more backticks than it contains. */
const quote = (text: string): string => `${codeBlock(text.trimEnd())}\n`

type Keys = {
  type: (data: string) => void
  arrow: (arrow: Arrow) => void
  ctrl: boolean
  setCtrl: (on: boolean) => void
}

/** For keyboards on a touch screen, which have no such keys. The terminal keeps the focus. */
const KeyRow = ({ type, arrow, ctrl, setCtrl }: Keys) => {
  const key = (label: string, press: () => void, name?: string) => (
    <button
      type="button"
      class="terminal-key"
      {...(name ? { 'aria-label': name } : {})}
      onPointerDown={event => event.preventDefault()}
      onClick={press}
    >
      {label}
    </button>
  )
  return (
    <fieldset class="terminal-keys" aria-label={t('terminal.keys')}>
      {key('Esc', () => type('\x1b'))}
      {key('Tab', () => type('\t'))}
      <button
        type="button"
        class="terminal-key"
        aria-pressed={ctrl}
        onPointerDown={event => event.preventDefault()}
        onClick={() => setCtrl(!ctrl)}
      >
        Ctrl
      </button>
      {key('←', () => arrow('left'), t('terminal.key.left'))}
      {key('↑', () => arrow('up'), t('terminal.key.up'))}
      {key('↓', () => arrow('down'), t('terminal.key.down'))}
      {key('→', () => arrow('right'), t('terminal.key.right'))}
      {key('|', () => type('|'))}
      {key('~', () => type('~'))}
    </fieldset>
  )
}

type Connection = { screen: Screen; type: (data: string) => void }

/** Opens a screen in `box` and connects it. Returns the connection and a function that ends it. */
const connect = (
  box: HTMLElement,
  terminal: Terminal,
  options: {
    api: TerminalClientOptions['api']
    terminals: Terminals
    clock: Clock
    takeCtrl: () => boolean
    onLink: (link: TerminalLink, code: number | null) => void
    onSelection: (text: string) => void
  },
): { connection: Connection; end: () => void } => {
  const { api, terminals, clock, takeCtrl, onLink, onSelection } = options
  const { terminal_id: id } = terminal
  const styles = getComputedStyle(document.documentElement)
  const screen = new Screen({
    fontFamily: fontOf(styles),
    fontSize: 13,
    scrollback: SCROLLBACK_LINES,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    minimumContrastRatio: 4.5,
    theme: themeOf(styles),
    screenReaderMode: false,
    macOptionIsMeta: true,
  })
  const fit = new FitAddon()
  screen.loadAddon(fit)
  screen.open(box)
  addLinks(screen)
  const input = screen.textarea
  input?.setAttribute('aria-label', t('terminal.screen'))

  const client = new TerminalClient({
    api,
    session: () => terminals.sessionId,
    terminalId: id,
    name: randomId(),
    write: (text, reset) =>
      new Promise(resolve => {
        if (reset) screen.reset()
        screen.write(text, resolve)
      }),
    onLink(link, code) {
      onLink(link, code)
      if (link !== 'exited' && link !== 'gone') return
      screen.options.disableStdin = true
      if (terminal.status === 'running' && link === 'exited') terminals.ended(id, code)
    },
    wait: clock.delay,
  })

  screen.attachCustomKeyEventHandler(event => {
    if (isCopy(event) && screen.hasSelection()) {
      copy(screen.getSelection())
      event.preventDefault()
    }
    return !isForPage(event)
  })
  // Answers of the terminal to programs come here as well: only the page in use gives them, and only to new questions.
  const isInUse = () => client.isCaughtUp() && document.activeElement === input
  const subscriptions = [
    screen.onData(data => {
      const isAnswer = /^\x1b(?:\[[?>]?[\d;]*[cRny]|\]\d+;|P)/.test(data)
      if (!isAnswer || isInUse()) client.type(takeCtrl() ? withCtrl(data) : data)
    }),
    screen.onBinary(data => client.type(data)),
    screen.onBell(() => {
      if (client.isCaughtUp() && document.activeElement !== input) terminals.ring(id)
    }),
    screen.onSelectionChange(() => onSelection(screen.getSelection())),
  ]
  const focused = () => terminals.seen(id)
  input?.addEventListener('focus', focused)

  let cancelResize = () => {}
  const resize = () => {
    fit.fit()
    cancelResize()
    const { cols, rows } = screen
    cancelResize = clock.timer(RESIZE_MS, () => terminals.resize(id, { cols, rows }))
  }
  const observer = new ResizeObserver(resize)
  observer.observe(box)
  const unwatch = onThemeChange(() => {
    const now = getComputedStyle(document.documentElement)
    screen.options.theme = themeOf(now)
    screen.options.fontFamily = fontOf(now)
  })
  // A hidden tab gives its connection to others; it continues at the same position.
  const visibility = () => (document.hidden ? client.stop() : client.start())
  document.addEventListener('visibilitychange', visibility)
  resize()
  client.start()

  return {
    connection: { screen, type: data => client.type(data) },
    end() {
      client.stop()
      cancelResize()
      observer.disconnect()
      unwatch()
      document.removeEventListener('visibilitychange', visibility)
      for (const subscription of subscriptions) subscription.dispose()
      screen.dispose()
    },
  }
}

export const TerminalScreen = ({
  terminal,
  terminals,
}: {
  terminal: Terminal
  terminals: Terminals
}) => {
  const { platform } = useShell()
  const { draft: composer } = useComposer()
  const { layout } = useShell()
  const box = useRef<HTMLDivElement>(null)
  const connection = useRef<Connection | null>(null)
  const selection = useSignal('')
  const status = useSignal<{ link: TerminalLink; code: number | null }>({
    link: 'live',
    code: null,
  })
  const ctrl = useSignal(false)
  const armed = useRef(false)
  armed.current = ctrl.value

  useEffect(() => {
    const handle = connect(box.current!, terminal, {
      api: platform.api,
      terminals,
      clock: platform.clock,
      takeCtrl() {
        const was = armed.current
        if (was) ctrl.value = false
        return was
      },
      onLink: (link, code) => {
        status.value =
          status.value.link === link && status.value.code === code ? status.value : { link, code }
      },
      onSelection: next => {
        selection.value = next
      },
    })
    connection.current = handle.connection
    // Not on a touch screen, where the keyboard would cover what is to be read.
    if (!matchMedia('(pointer: coarse)').matches) handle.connection.screen.focus()
    return handle.end
  }, [terminal.terminal_id])

  const addToMessage = (): void => {
    const text = composer.text.value
    composer.edit(`${text}${text && !text.endsWith('\n') ? '\n' : ''}${quote(selection.value)}`)
    connection.current?.screen.clearSelection()
    layout.composerFocus.value += 1
  }
  const type = (data: string) => {
    connection.current?.type(data)
    connection.current?.screen.focus()
  }
  const { link, code } = status.value
  return (
    <div class="terminal">
      <div class="terminal-box">
        <div class="terminal-screen" ref={box} dir="ltr" />
        {selection.value.trim() && (
          <div class="terminal-bar">
            <Button kind="quiet" icon="copy" onClick={() => copy(selection.value)}>
              {t('terminal.copy')}
            </Button>
            <Button kind="quiet" icon="arrow-up" onClick={addToMessage}>
              {t('terminal.quote')}
            </Button>
          </div>
        )}
      </div>
      {link !== 'live' && (
        <p class="terminal-note" role="status">
          {link === 'exited'
            ? t('terminal.exited', { code: `${code ?? '?'}` })
            : t(link === 'gone' ? 'terminal.gone' : 'terminal.waiting')}
        </p>
      )}
      <KeyRow
        ctrl={ctrl.value}
        setCtrl={next => {
          ctrl.value = next
        }}
        type={type}
        arrow={arrow =>
          type(arrowKey(arrow, connection.current?.screen.modes.applicationCursorKeysMode ?? false))
        }
      />
    </div>
  )
}
