/** HTML with its scripts, in a frame of an opaque origin without a network (lib/http/artifact-frame.ts). */
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../workspace/strings.ts'

/** The frame's own guard against fresh global objects is made of Trusted Types. */
export const canRun = (): boolean => 'trustedTypes' in window

/**
 * Without what the guard of the frame rejects: the attribute that makes nested frames, and links to other files, which could
 * load nothing. `meta` is as empty as they are and may be where they may be.
 */
const prepared = (html: string): string =>
  html.replace(/srcdoc/gi, 'data-src-doc').replace(/<link/gi, '<meta data-')

const TYPING = 'input, textarea, select, [contenteditable]'

/**
 * A script can move the focus into its frame and receive what the person types elsewhere. The focus goes back to the field unless
 * the pointer or the Tab key moved it. Not on touch screens, where a tap in the frame is not visible to the page.
 */
const guardFocus = (frame: HTMLIFrameElement): (() => void) => {
  const state = { field: null as HTMLElement | null, inside: false, tabAtMs: -Infinity }
  const onFocus = (event: FocusEvent) => {
    const { target } = event
    if (target instanceof HTMLElement && target !== frame)
      state.field = target.matches(TYPING) ? target : null
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Tab') state.tabAtMs = performance.now()
  }
  const onBlur = () => {
    const isInside = state.inside || performance.now() - state.tabAtMs < 100
    if (document.activeElement === frame && !isInside) state.field?.focus()
  }
  const enter = () => {
    state.inside = true
  }
  const leave = () => {
    state.inside = false
  }
  if (!matchMedia('(hover: hover)').matches) return () => undefined
  const active = document.activeElement
  if (active instanceof HTMLElement && active.matches(TYPING)) state.field = active
  document.addEventListener('focusin', onFocus)
  document.addEventListener('keydown', onKey, true)
  window.addEventListener('blur', onBlur)
  frame.addEventListener('pointerenter', enter)
  frame.addEventListener('pointerleave', leave)
  return () => {
    document.removeEventListener('focusin', onFocus)
    document.removeEventListener('keydown', onKey, true)
    window.removeEventListener('blur', onBlur)
  }
}

const Frame = ({ html, name }: { html: string; name: string }) => {
  const ref = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const frame = ref.current
    if (!frame) return
    const release = guardFocus(frame)
    // The first document only: the frame may load another one, which gets nothing.
    frame.addEventListener('load', () => frame.contentWindow?.postMessage(prepared(html), '*'), {
      once: true,
    })
    frame.src = 'artifact'
    return release
  }, [html])
  return (
    <iframe
      ref={ref}
      class="frame-view"
      title={t('preview.frame', { name })}
      sandbox="allow-scripts"
      referrerpolicy="no-referrer"
    />
  )
}

/** A changed document gets a new frame. */
export const LiveFrame = (props: { html: string; name: string }) => (
  <Frame key={props.html} {...props} />
)
