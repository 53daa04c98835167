/** Scrolling box that is focusable and named, so that it can be scrolled by keyboard. */
import type { ComponentChildren } from 'preact'

export function ScrollBox(props: { class: string; label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups form fields; a section would add a landmark per box
    <div
      class={props.class}
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1 requires that a scrolling box can be focused
      tabIndex={0}
      aria-label={props.label}
    >
      {props.children}
    </div>
  )
}
