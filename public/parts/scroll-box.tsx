/** Scrolling box that is focusable and named, so that it can be scrolled by keyboard. */
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
