/** A box that scrolls sideways or down: named, and reachable by keyboard, or its end could not be read without a mouse. */
import type { ComponentChildren } from 'preact'

export function ScrollBox(props: { class: string; label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section would be one landmark more for every box
    <div
      class={props.class}
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must take focus (WCAG 2.1.1)
      tabIndex={0}
      aria-label={props.label}
    >
      {props.children}
    </div>
  )
}
