/** The mark of the product: a spine with one node and three entries, as in public/icons/favicon.svg. */
export const Mark = ({ size = 40 }: { size?: number }) => (
  <svg class="logo" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
    <g fill="none" stroke="currentColor" stroke-linecap="round" stroke-width="1.8">
      <path d="M8 4v24" stroke-opacity="0.4" />
      <path d="M16 9h12M16 16h8M16 23h10" />
    </g>
    <circle class="logo-node" cx="8" cy="9" r="4" />
  </svg>
)
