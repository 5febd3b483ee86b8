# SPDX-License-Identifier: Apache-2.0
# `cpack -G DEB` in the build folder. A component of its own: what is installed outside of the prefix must not
# come along with `cmake --install --prefix X`.
set(package_dir ${CMAKE_CURRENT_LIST_DIR})
set(in_package COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${package_dir}/systemd/oomwitness.service DESTINATION /lib/systemd/system ${in_package})
install(FILES ${package_dir}/oomwitness.toml DESTINATION /etc/oomwitness ${in_package})
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${package_dir}/prometheus/runbook.md
        DESTINATION /usr/share/doc/oomwitness ${in_package})
install(FILES ${package_dir}/man/oomwitness.1 DESTINATION /usr/share/man/man1 ${in_package})
install(FILES ${package_dir}/completion/oomwitness.bash DESTINATION /usr/share/bash-completion/completions
        RENAME oomwitness ${in_package})
install(FILES ${package_dir}/completion/_oomwitness DESTINATION /usr/share/zsh/vendor-completions ${in_package})
install(FILES ${package_dir}/completion/oomwitness.fish DESTINATION /usr/share/fish/vendor_completions.d ${in_package})
install(FILES ${package_dir}/debian/copyright DESTINATION /usr/share/doc/oomwitness ${in_package})
install(FILES ${package_dir}/prometheus/oomwitness.rules.yml ${package_dir}/prometheus/prometheus.yml
        DESTINATION /usr/share/oomwitness/prometheus ${in_package})
install(FILES ${package_dir}/grafana/oomwitness.json DESTINATION /usr/share/oomwitness/grafana ${in_package})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME oomwitness)
set(CPACK_PACKAGE_CONTACT "oomwitness maintainers <maintainers@oomwitness.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "memory tracer that keeps the evidence of OOM kills")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "BPF programs watch every memory cgroup of a node. When the kernel's OOM killer
chooses a process, its heap profile (Go), its limit and what led to it are
written down as one incident and counted for Prometheus.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "golang-go, prometheus")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${package_dir}/debian/conffiles;${package_dir}/debian/postinst;${package_dir}/debian/prerm;${package_dir}/debian/postrm)
include(CPack)
