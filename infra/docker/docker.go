package docker

import _ "github.com/docker/docker/client"
