// Whose words the bytes of a row are: the families of origins, which have the colours that the terminal gives them.

export const FAMILIES = ["yours", "pack", "model", "tool", "session", "notation"];

const FAMILY_OF = {
  file: "yours", user: "yours", provided: "yours", skill: "yours", image: "yours", pack: "pack", catalogue: "pack",
  model: "model", tool: "tool", layout: "notation", wire: "notation",
};

/** What an MCP server says of its tools is a tool's words. */
export function family(source, origin = "") {
  return source === "provided" && origin.startsWith("mcp_servers") ? "tool" : FAMILY_OF[source] ?? "session";
}

/** Its group: all tools are one. */
export const group = (part) => part.replace(/(.)\/.*$/s, "$1");
