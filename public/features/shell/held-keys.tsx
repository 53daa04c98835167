/** Keys typed while a search field is still loading: kept for the field, so that they don't change or send the message. */
import { useLayoutEffect } from 'preact/hooks'
import { useShell } from '../../contexts.ts'

const buffer = { text: '' }

/** What was typed so far, once. For the field, when it is shown. */
export const takeHeldKeys = (): string => {
  const { text } = buffer
  buffer.text = ''
  return text
}

/** Shown in place of the field while it loads. */
export const HeldKeys = () => {
  const { layout } = useShell()
  useLayoutEffect(() => {
    buffer.text = ''
    const keep = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      // Shortcuts, and Tab, keep working.
      if (ctrlKey || metaKey || altKey || key === 'Tab') return
      if (key === 'Escape') {
        layout.findOpen.value = layout.paletteOpen.value = false
        layout.overlay.value = null
      } else if (key === 'Backspace') buffer.text = buffer.text.slice(0, -1)
      else if (key.length === 1) buffer.text += key
      event.preventDefault()
      event.stopPropagation()
    }
    document.addEventListener('keydown', keep, true)
    return () => document.removeEventListener('keydown', keep, true)
  }, [])
  return null
}
