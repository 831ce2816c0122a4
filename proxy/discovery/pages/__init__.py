"""What pages for people say to agents: links in fields and in HTML, robots.txt, llms.txt."""
